//! A runner on the crate `gitlab-runner`: the crate speaks the protocol, this program runs the scripts with bash.
//!
//! `rust-runner URL TOKEN` takes jobs until SIGTERM, four at a time. Each job runs in a folder of its own that holds the
//! commit of the job (fetched with the job's own credentials) and the artifacts of its dependencies.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::io::Cursor;
use gitlab_runner::artifact::Artifact;
use gitlab_runner::job::{Dependency, Job};
use gitlab_runner::{
    CancellableJobHandler, GitlabLayer, JobResult, Phase, RunnerBuilder, UploadableFile, outputln,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::prelude::*;
use url::Url;

const AT_ONCE: usize = 4;
const PAUSE: Duration = Duration::from_millis(300);
const OPENED: usize = 20;
const TORN: &str = "Failed to parse zip file";
const MASKED: &str = "[MASKED]";
const FETCH: &str = "git init -q . && git fetch -q --depth 1 \"$CI_REPOSITORY_URL\" \"$CI_COMMIT_SHA\" \
                     && git checkout -q FETCH_HEAD";

/// A file below the job's folder.
struct Product {
    name: String,
    path: PathBuf,
}

#[async_trait::async_trait]
impl UploadableFile for Product {
    type Data<'a> = Cursor<Vec<u8>>;

    fn get_path(&self) -> Cow<'_, str> {
        self.name.as_str().into()
    }

    async fn get_data(&self) -> Result<Self::Data<'_>, ()> {
        std::fs::read(&self.path).map(Cursor::new).map_err(|_| ())
    }
}

/// The artifacts of a dependency. The crate (0.3.2) opens the file of a large archive before the last bytes of it are
/// written: what it has fetched is opened again then, and nothing is fetched twice.
async fn archive(dependency: &Dependency<'_>) -> Result<Option<Artifact>, ()> {
    for _ in 1..OPENED {
        match dependency.download().await {
            Err(error) if error.to_string().starts_with(TORN) => tokio::time::sleep(PAUSE).await,
            fetched => return fetched.map_err(|error| outputln!("{error}")),
        }
    }
    let fetched = dependency.download().await;
    fetched.map_err(|error| outputln!("{error}"))
}

struct Shell {
    job: Job,
    folder: PathBuf,
    secrets: Vec<String>,
}

impl Shell {
    /// Fetch the commit and unpack what earlier jobs left.
    async fn prepare(job: Job) -> Result<Self, ()> {
        let folder = job.build_dir().join("work");
        std::fs::create_dir(&folder).map_err(|_| ())?;
        let secrets = job
            .variables()
            .filter(|item| item.masked())
            .map(|item| item.value().to_string())
            .collect();
        let shell = Shell {
            job,
            folder,
            secrets,
        };
        shell.bash(FETCH, &CancellationToken::new()).await?;
        for dependency in shell.job.dependencies() {
            outputln!("unpacking the artifacts of {}", dependency.name());
            let Some(mut archive) = archive(&dependency).await? else {
                continue;
            };
            for index in 0..archive.len() {
                let mut file = archive.by_index(index).ok_or(())?;
                let target = shell.folder.join(file.path().ok_or(())?);
                let mut content = Vec::new();
                file.read_to_end(&mut content).map_err(|_| ())?;
                std::fs::create_dir_all(target.parent().ok_or(())?).map_err(|_| ())?;
                std::fs::write(target, content).map_err(|_| ())?;
            }
        }
        Ok(shell)
    }

    /// Run a text with bash, its output in the job's log; a cancelled job's processes are killed.
    async fn bash(&self, text: &str, cancelled: &CancellationToken) -> JobResult {
        let mut child = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; set -eo pipefail\n{text}")])
            .envs(self.job.variables().map(|item| (item.key(), item.value())))
            .env("CI_PROJECT_DIR", &self.folder)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| outputln!("bash cannot be started: {error}"))?;
        let group = child.id().ok_or(())?;
        let mut lines = BufReader::new(child.stdout.take().ok_or(())?).lines();
        loop {
            tokio::select! {
                line = lines.next_line() => match line {
                    Ok(Some(line)) => self.say(&line),
                    _ => break,
                },
                _ = cancelled.cancelled() => {
                    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status().await;
                    break;
                }
            }
        }
        match child.wait().await {
            Ok(status) if status.success() => Ok(()),
            _ => Err(()),
        }
    }

    fn say(&self, line: &str) {
        let hidden = self.secrets.iter().fold(line.to_string(), |text, secret| {
            text.replace(secret.as_str(), MASKED)
        });
        outputln!("{hidden}");
    }
}

#[async_trait::async_trait]
impl CancellableJobHandler<Product> for Shell {
    async fn step(
        &mut self,
        script: &[String],
        _phase: Phase,
        cancelled: &CancellationToken,
    ) -> JobResult {
        self.bash(&script.join("\n"), cancelled).await
    }

    async fn get_uploadable_files(
        &mut self,
    ) -> Result<Box<dyn Iterator<Item = Product> + Send>, ()> {
        let mut found = Vec::new();
        collect(&self.folder, &self.folder, &mut found).map_err(|_| ())?;
        Ok(Box::new(found.into_iter()))
    }
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Product>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, found)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            found.push(Product {
                name: name.to_string_lossy().into_owned(),
                path,
            });
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() {
    let [url, token] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .expect("usage: rust-runner URL TOKEN");
    let builds = tempfile::tempdir().expect("a folder for builds");
    let (layer, jobs) = GitlabLayer::new();
    tracing_subscriber::Registry::default()
        .with(
            tracing_subscriber::fmt::layer()
                .with_filter(tracing_subscriber::filter::LevelFilter::WARN),
        )
        .with(layer)
        .init();
    let mut runner = RunnerBuilder::new(
        Url::parse(&url).expect("an address"),
        token,
        builds.path(),
        jobs,
    )
    .version(env!("CARGO_PKG_VERSION"))
    .platform(std::env::consts::OS)
    .architecture(std::env::consts::ARCH)
    .system_id("s_rustrunner01")
    .build()
    .await;
    let mut term = signal(SignalKind::terminate()).expect("a signal handler");
    loop {
        runner.wait_for_space(AT_ONCE).await;
        if !matches!(runner.request_job(Shell::prepare).await, Ok(true)) {
            tokio::select! {
                _ = term.recv() => break,
                _ = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
    runner.drain().await;
}
