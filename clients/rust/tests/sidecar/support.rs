//! The sidecar of the tests, started from the checkout. It has a directory with two accounts.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis_client::v1::directory_service_client::DirectoryServiceClient;
use portcullis_client::{Answer, Client, Local, Options, Question, Scope, v1};
use serde_json::Value;

pub(crate) const ACCOUNT: &str = "123456";
pub(crate) const OTHER_ACCOUNT: &str = "654321";
pub(crate) const CALLER: &str = "follower-caller-token-0123456789abcdef";
pub(crate) const STRANGER: &str = "stranger-caller-token-0123456789abcdef";
/// May do everything.
pub(crate) const OPERATOR: &str = "operator-caller-token-0123456789abcdef";
/// How many static tokens one user has, beside those that tests name.
pub(crate) const MANY: usize = 10_000;

pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) secrets: HashMap<String, String>,
    pub(crate) many: Vec<String>,
    sidecar: Sidecar,
}

impl Shared {
    pub(crate) fn address(&self) -> &str {
        &self.sidecar.address
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.folder.join(name);
        fs::write(&file, content).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        file
    }
}

/// A process, which ends with the one of the tests.
pub(crate) struct Sidecar {
    pub(crate) address: String,
    process: Child,
    /// Says how it is ended.
    end: Option<ChildStdin>,
}

impl Sidecar {
    /// Starts one beside the shared one, with the same directory, and waits until it is ready.
    pub(crate) fn start(folder: &Path, config: &str, address: &str, is_last: bool) -> Sidecar {
        // The shell waits for its input to end, which it does in any case when the tests end.
        let watch = r#"folder=$1; is_last=$2; shift 2; "$@" & pid=$!; read -r signal; kill -"${signal:-INT}" $pid; wait $pid; if $is_last; then rm -rf "$folder"; fi"#;
        let mut process = Command::new("sh")
            .args(["-c", watch, "sh"])
            .arg(folder)
            .arg(is_last.to_string())
            .args(portcullis())
            .args(["serve", "--http", "off", "--json", "--config", config, "--data", "data", "--grpc", address])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the sidecar did not start: {line}"));
        Sidecar { address: ready["grpc"].as_str().unwrap().to_owned(), end: process.stdin.take(), process }
    }

    pub(crate) fn kill(mut self) {
        self.end.take().unwrap().write_all(b"KILL\n").unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.end = None;
        let _ = self.process.wait();
    }
}

/// The command of this checkout.
fn portcullis() -> [PathBuf; 2] {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    [checkout.join("node_modules/.bin/node"), checkout.join("sidecar/portcullis.js")]
}

pub(crate) fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(start)
}

fn start() -> Shared {
    let folder = tempfile::Builder::new().prefix("portcullis-rust-").tempdir().unwrap().keep();
    let mut names = String::new();
    for index in 0..MANY {
        write!(names, ", many-{index}").unwrap();
    }
    let directory = format!(
        r#"accounts:
  - account: "{ACCOUNT}"
    projects: [alpha, beta]
    service_users:
      - {{ name: account, permissions: [{{ scope: account }}] }}
      - {{ name: alpha, permissions: [{{ scope: projects, projects: [alpha] }}] }}
    control_panel_users:
      - {{ name: owner, static_tokens: [key{names}] }}
  - account: "{OTHER_ACCOUNT}"
    control_panel_users:
      - {{ name: stranger, static_tokens: [other] }}
"#
    );
    fs::write(folder.join("directory.yaml"), directory).unwrap();
    let [node, launcher] = portcullis();
    let output = Command::new(node)
        .arg(launcher)
        .args(["directory", "apply", "directory.yaml", "--data", "data", "--json"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let applied: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("directory apply: {}", String::from_utf8_lossy(&output.stderr)));
    let (mut secrets, mut many) = (HashMap::new(), Vec::new());
    for each in applied["secrets"].as_array().unwrap() {
        let text = |name: &str| each[name].as_str().unwrap_or_default().to_owned();
        if text("name").starts_with("many-") {
            many.push(text("value"));
        } else {
            secrets.insert(text("user"), text("value"));
        }
    }
    let config = format!(
        r#"callers:
  - {{ name: follower, token_file: caller.token, rights: [follow], profiles: [job] }}
  - {{ name: operator, token_file: operator, rights: [everything] }}
  - {{ name: stranger, token_file: stranger, rights: [read] }}
profiles:
  job: {{ account: "{ACCOUNT}", user_name: account, password_file: password }}
directory: {{ staleness_ms: 2000 }}
routes:
  - {{ path: /accounts/, api: iam }}
  - {{ path: "/accounts/{{account}}/balance", methods: [GET], api: balance, target: {{ account: {{ segment: account }} }} }}
  - {{ path: /balance, api: balance, target: {{ account: {{ header: X-Account }} }} }}
  - {{ path: /portcullis.v1.AuthorizationService/Plan, methods: [POST], api: balance, target: {{ account: {{ header: account }} }} }}
  - {{ path: /portcullis.v1.AuthorizationService/WatchChanges, methods: [POST], api: balance, target: {{ account: {{ header: account }} }} }}
log: {{ level: error }}
"#
    );
    let files = [
        ("caller.token", CALLER),
        ("operator", OPERATOR),
        ("stranger", STRANGER),
        ("password", &secrets["account"]),
        ("portcullis.yaml", &config),
    ];
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
    let sidecar = Sidecar::start(&folder, "portcullis.yaml", "127.0.0.1:0", true);
    Shared { folder, secrets, many, sidecar }
}

/// The static token of the owner.
pub(crate) fn fixed() -> &'static str {
    &shared().secrets["owner"]
}

pub(crate) fn with_caller(token: &str) -> Options {
    Options { caller_token: Some(token.to_owned()), ..Options::default() }
}

/// A client of the shared sidecar.
pub(crate) fn connect(options: Options) -> Client {
    Client::connect(shared().address(), options).unwrap()
}

/// A client where no sidecar is.
pub(crate) fn absent() -> Client {
    Client::connect(&format!("unix:{}", shared().folder.join("absent").display()), Options::default()).unwrap()
}

/// A client in local mode that follows already.
pub(crate) async fn connect_local(local: Local) -> Client {
    let client = connect(Options { local: Some(local), ..with_caller(CALLER) });
    eventually("the client follows", async || client.is_following()).await;
    client
}

/// With and without local mode.
pub(crate) async fn modes() -> [(&'static str, Client); 2] {
    [("asked", connect(Options::default())), ("local", connect_local(Local::default()).await)]
}

/// Waits until something is so. It fails long after it should have been.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(60), "expected that {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(crate) fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in pairs.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

/// Asks about the API `balance` with a static token.
pub(crate) async fn balance(client: &Client, value: &str) -> Answer {
    try_balance(client, value).await.unwrap()
}

pub(crate) async fn try_balance(client: &Client, value: &str) -> Result<Answer, portcullis_client::Error> {
    let (headers, target) = (headers(&[("X-Token", value)]), Scope::account(ACCOUNT));
    client.check(&Question::new("balance", &headers).target(&target).client_address("192.0.2.1")).await
}

pub(crate) fn is_from_memory(answer: &Answer) -> bool {
    answer.response().is_none()
}

/// A token of a service user.
pub(crate) async fn issue_token(user: &str, project: &str) -> String {
    let response = connect(Options::default()).issue(login(user, &shared().secrets[user], project)).await;
    response.unwrap().value
}

pub(crate) fn login(user: &str, password: &str, project: &str) -> v1::IssueRequest {
    v1::IssueRequest {
        requester: Some(v1::issue_request::Requester::Password(v1::PasswordRequester {
            user_name: user.to_owned(),
            account: ACCOUNT.to_owned(),
            password: password.to_owned(),
            ..Default::default()
        })),
        purpose: Some(v1::issue_request::Purpose::Scope(v1::Scope {
            account: ACCOUNT.to_owned(),
            project: project.to_owned(),
        })),
        ..Default::default()
    }
}

/// A new static token, and its id.
pub(crate) async fn create_token(name: &str) -> (String, String) {
    let mut directory = DirectoryServiceClient::new(connect(with_caller(OPERATOR)).connection());
    let request = v1::CreateStaticTokenRequest {
        account: ACCOUNT.to_owned(),
        user_name: "owner".to_owned(),
        name: name.to_owned(),
        ..Default::default()
    };
    let response = directory.create_static_token(request).await.unwrap().into_inner();
    (response.value, response.token.unwrap().token_id)
}

pub(crate) fn by_value(value: &str) -> v1::RevokeRequest {
    v1::RevokeRequest { token: Some(v1::revoke_request::Token::Value(value.to_owned())), ..Default::default() }
}

pub(crate) async fn revoke(value: &str) -> v1::RevokeResponse {
    connect(with_caller(OPERATOR)).revoke(by_value(value)).await.unwrap()
}

/// The reports, one after the other.
pub(crate) struct Reported(pub(crate) tokio::sync::mpsc::UnboundedReceiver<portcullis_client::Error>);

pub(crate) fn reporter() -> (portcullis_client::OnFailure, Reported) {
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    (Arc::new(move |error| _ = tell.send(error.clone())), Reported(told))
}
