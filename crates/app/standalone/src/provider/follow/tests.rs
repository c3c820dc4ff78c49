//! Following real files in a scratch folder.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A follower driven by hand: time is an argument.
fn watch(folder: &TempDir) -> Watch {
    Watch::new(Sources {
        paths: vec![folder.path().display().to_string()],
        recursive: false,
    })
}

impl Watch {
    fn look_around(&mut self, now: Instant) -> Vec<String> {
        self.compare(Scan::of(&self.sources), now, None);
        let news = self.read_still(now);
        news.into_iter()
            .map(|(file, told)| tell(&file, &told))
            .collect()
    }
}

fn tell(file: &FileId, told: &Told) -> String {
    let name = Path::new(&file.name).file_name();
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    match told {
        Told::Reading(reading) => format!("{name}: {} objects", reading.manifests.len()),
        Told::Emptied => format!("{name}: emptied"),
        Told::Gone => format!("{name}: gone"),
    }
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n";

#[test]
fn a_file_is_read_once_it_has_been_still() {
    let folder = TempDir::new().expect("a folder");
    let mut watch = watch(&folder);
    let start = Instant::now();
    let mut file = fs::File::create(folder.path().join("a.yaml")).expect("a file");
    assert!(watch.look_around(start).is_empty());
    assert!(watch.look_around(start + STILLNESS / 2).is_empty());
    std::io::Write::write_all(&mut file, SERVICE.as_bytes()).expect("a write");
    assert!(
        watch.look_around(start + STILLNESS).is_empty(),
        "it has just changed"
    );
    assert_eq!(
        watch.look_around(start + STILLNESS * 2),
        ["a.yaml: 1 objects"]
    );
    assert!(watch.look_around(start + STILLNESS * 4).is_empty());
}

#[test]
fn a_file_that_is_away_for_less_than_the_stillness_was_never_gone() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a.yaml");
    fs::write(&path, SERVICE).expect("a file");
    let mut watch = watch(&folder);
    watch.read_all();
    let start = Instant::now();
    fs::rename(&path, folder.path().join("a.yaml~")).expect("away");
    assert!(watch.look_around(start).is_empty());
    fs::rename(folder.path().join("a.yaml~"), &path).expect("back");
    let back = watch.look_around(start + STILLNESS / 2);
    assert!(back.is_empty(), "{back:?}");
    fs::remove_file(&path).expect("away");
    watch.look_around(start + STILLNESS * 10);
    let gone = watch.look_around(start + STILLNESS * 12);
    assert!(gone.contains(&"a.yaml: gone".to_owned()), "{gone:?}");
}

#[test]
fn files_of_a_folder_that_is_gone_are_not_gone() {
    let outer = TempDir::new().expect("a folder");
    let folder = outer.path().join("manifests");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("a.yaml"), SERVICE).expect("a file");
    let mut watch = Watch::new(Sources {
        paths: vec![folder.display().to_string()],
        recursive: false,
    });
    watch.read_all();
    let start = Instant::now();
    fs::rename(&folder, outer.path().join("elsewhere")).expect("away");
    watch.look_around(start);
    let told = watch.look_around(start + STILLNESS);
    assert_eq!(told, ["manifests: 0 objects"], "only the trouble is told");
    fs::rename(outer.path().join("elsewhere"), &folder).expect("back");
    watch.look_around(start + STILLNESS * 2);
    let told = watch.look_around(start + STILLNESS * 3);
    assert_eq!(told, ["manifests: gone"], "the trouble is over");
}

#[test]
fn an_emptied_file_is_told_apart_from_one_that_is_gone() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a.yaml");
    fs::write(&path, SERVICE).expect("a file");
    let mut watch = watch(&folder);
    watch.read_all();
    let start = Instant::now();
    fs::write(&path, "").expect("a file");
    watch.look_around(start);
    assert_eq!(watch.look_around(start + STILLNESS), ["a.yaml: emptied"]);
}

#[test]
fn at_the_start_nobody_waits_for_a_large_file() {
    let folder = TempDir::new().expect("a folder");
    let large = format!("{SERVICE}# {}\n", "x".repeat(2 << 20));
    fs::write(folder.path().join("large.yaml"), large).expect("a file");
    fs::write(folder.path().join("small.yaml"), SERVICE).expect("a file");
    let mut watch = watch(&folder);
    let (first, deferred) = watch.read_all();
    let first: Vec<String> = first.iter().map(|(file, told)| tell(file, told)).collect();
    assert_eq!(first, ["small.yaml: 1 objects"]);
    assert_eq!(deferred.len(), 1);
    let start = Instant::now();
    watch.look_around(start);
    assert_eq!(
        watch.look_around(start + STILLNESS),
        ["large.yaml: 1 objects"]
    );
}

#[test]
fn the_time_that_looking_takes_is_not_added_to_the_stillness() {
    let now = Instant::now() + Duration::from_secs(60);
    let heard = Some(now - Duration::from_millis(30));
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a.yaml");
    fs::write(&path, SERVICE).expect("a file");
    let fresh = scan::look(&path);
    let since = still_since(fresh.as_ref(), now, heard);
    assert!(
        now - since < Duration::from_millis(30),
        "it has just changed"
    );
    std::thread::sleep(Duration::from_millis(50));
    let since = still_since(fresh.as_ref(), now, heard);
    assert_eq!(
        now - since,
        Duration::from_millis(30),
        "and no further back"
    );
    assert_eq!(still_since(fresh.as_ref(), now, None), now);
    assert_eq!(still_since(None, now, heard), now);
}

#[test]
fn a_file_that_was_moved_is_never_there_twice_or_not_at_all() {
    let folder = TempDir::new().expect("a folder");
    let mut watch = watch(&folder);
    let (here, there) = (folder.path().join("a.yaml"), folder.path().join("b.yaml"));
    fs::write(&here, SERVICE).expect("a file");
    let start = Instant::now();
    watch.look_around(start);
    assert_eq!(watch.look_around(start + STILLNESS), ["a.yaml: 1 objects"]);
    fs::rename(&here, &there).expect("a rename");
    std::thread::sleep(Duration::from_millis(20));
    let later = start + STILLNESS * 3;
    let heard = Some(later - Duration::from_millis(15));
    watch.compare(Scan::of(&watch.sources), later, heard);
    let just_before = later + STILLNESS - Duration::from_millis(1);
    assert!(watch.read_still(just_before).is_empty());
    let news = watch.read_still(later + STILLNESS);
    let news: Vec<String> = news.iter().map(|(file, told)| tell(file, told)).collect();
    assert_eq!(news, ["a.yaml: gone", "b.yaml: 1 objects"]);
}
