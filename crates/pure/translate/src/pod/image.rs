//! References to container images.

/// Whether two references name the same image, whatever their tags and digests.
pub(crate) fn same_program(a: &str, b: &str) -> bool {
    repository(a) == repository(b)
}

/// A reference without tag and digest. A tag starts at a colon behind the last slash; one before it is that of a port.
fn repository(reference: &str) -> &str {
    let without_digest = reference.split('@').next().unwrap_or(reference);
    let name_start = without_digest.rfind('/').map_or(0, |slash| slash + 1);
    let end = without_digest[name_start..]
        .find(':')
        .map_or(without_digest.len(), |colon| name_start + colon);
    let repository = &without_digest[..end];
    // Where the registry is left out, this one is meant.
    repository
        .strip_prefix("docker.io/")
        .or_else(|| repository.strip_prefix("index.docker.io/"))
        .unwrap_or(repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_name_without_tag_and_digest() {
        for reference in [
            "l7mp/stunnerd",
            "l7mp/stunnerd:1.2.3",
            "l7mp/stunnerd@sha256:0123",
            "l7mp/stunnerd:1.2.3@sha256:0123",
            "docker.io/l7mp/stunnerd:latest",
        ] {
            assert!(
                same_program(reference, "l7mp/stunnerd:0.1.0"),
                "{reference}"
            );
        }
        for reference in [
            "stunnerd:0.1.0",
            "l7mp/stunnerd-debug:0.1.0",
            "localhost:5000/l7mp/stunnerd:0.1.0",
            "",
        ] {
            assert!(
                !same_program(reference, "l7mp/stunnerd:0.1.0"),
                "{reference}"
            );
        }
        assert!(same_program(
            "localhost:5000/stunnerd",
            "localhost:5000/stunnerd:dev"
        ));
    }

    #[test]
    fn the_built_in_image_is_the_same_for_every_version_of_the_operator() {
        let image = crate::Settings::default().dataplane_image;
        assert!(!image.contains(env!("CARGO_PKG_VERSION")), "{image}");
    }
}
