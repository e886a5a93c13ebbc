//! The calls of the contract, and the faults where there is no answer.

use std::time::Duration;

use portcullis_client::{Claims, Client, Error, Local, Options, Question, Reason, Scope, v1};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType};
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::support::{
    ACCOUNT, CALLER, OPERATOR, Sidecar, absent, balance, by_value, connect, connect_local, create_token, eventually,
    fixed, headers, is_from_memory, login, shared, try_balance, with_caller,
};

fn claims() -> Claims {
    Claims { kind: "static_token".to_owned(), scope: Scope::account(ACCOUNT) }
}

#[tokio::test]
async fn calls_of_the_contract() {
    let file = shared().folder.join("operator");
    let client = connect(Options { caller_token_file: Some(file), ..Options::default() });

    let answer = balance(&client, fixed()).await;
    assert!(answer.allowed() && answer.verified() && answer.accepted().is_empty());
    assert_eq!((answer.reason(), answer.header()), (Reason::Allowed, "X-Token"));
    let token = answer.token().unwrap();
    assert_eq!((token.scope, token.subject.name.as_str()), (Scope::account(ACCOUNT), "owner"));
    assert!(!token.id.is_empty() && token.issued_at.is_some() && token.expires_at.is_none());

    let (known, unknown) = (headers(&[("X-Token", fixed())]), headers(&[("X-Token", "unknown")]));
    let (target, claims) = (Scope::account(ACCOUNT), claims());
    let questions = [
        Question::new("balance", &known).target(&target),
        Question::new("balance", &unknown).target(&target),
        Question::of_claims("reports", &claims),
    ];
    let answers = client.check_batch(&questions).await.unwrap();
    let reasons: Vec<_> = answers.iter().map(portcullis_client::Answer::reason).collect();
    assert_eq!(reasons, [Reason::Allowed, Reason::CredentialInvalid, Reason::Allowed]);

    let plan = client.plan(["reports", "balance"]).await.unwrap();
    assert_eq!(plan.tokens.iter().map(|token| token.kind.as_str()).collect::<Vec<_>>(), ["static_token"]);

    let (value, id) = create_token("of-the-contract").await;
    assert_eq!(client.revoke(by_value(&value)).await.unwrap().token_id, id);
    let answer = balance(&client, &value).await;
    assert_eq!((answer.allowed(), answer.reason()), (false, Reason::CredentialRevoked));

    let mut stream = client.watch_changes(v1::WatchChangesRequest::default()).await.unwrap();
    let first = stream.message().await.unwrap().unwrap();
    assert!(first.rules.is_some() && first.voided.unwrap().everything);
}

#[tokio::test]
async fn an_error_says_what_is_wrong() {
    let client = connect(Options::default());
    let claims = claims();
    let refused = client.check(&Question::of_claims("", &claims)).await.unwrap_err();
    assert_eq!((refused.code(), refused.reason()), (Some(Code::InvalidArgument), "INVALID_ARGUMENT"));
    let Error::Call(call) = &refused else { panic!("found {refused:?}") };
    assert_eq!(call.violations.iter().map(|each| each.field.as_str()).collect::<Vec<_>>(), ["api"]);

    let failed = client.issue(login("nobody", "x", "")).await.unwrap_err();
    assert_eq!((failed.code(), failed.reason()), (Some(Code::Unauthenticated), "LOGIN_FAILED"));

    let none = try_balance(&absent(), "x").await.unwrap_err();
    assert_eq!((none.code(), none.reason()), (Some(Code::Unavailable), ""));
    assert!(none.to_string().starts_with("portcullis: UNAVAILABLE no sidecar answers at unix:"), "{none}");

    // It accepts the connection, and then says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let options = Options { timeout: Some(Duration::from_millis(50)), ..Options::default() };
    let late = try_balance(&Client::connect(&address, options).unwrap(), "x").await.unwrap_err();
    assert_eq!(late.code(), Some(Code::DeadlineExceeded), "{late}");
}

#[tokio::test]
async fn no_secret_goes_to_another_machine_in_plaintext() {
    let refused = Client::connect("192.0.2.1:1", with_caller("pcst_1")).unwrap_err();
    assert!(matches!(refused, Error::Plaintext { .. }) && !refused.to_string().contains("pcst_1"));
    let client = Client::connect("192.0.2.1:1", Options::default()).unwrap();
    let headers = headers(&[("X-Token", "x")]);
    let question = Question::new("balance", &headers);
    let errors = [
        client.check(&question).await.err(),
        client.check_batch(&[question]).await.err(),
        client.issue(v1::IssueRequest::default()).await.err(),
        client.revoke(by_value("x")).await.err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(Error::Plaintext { .. })), "{error:?}");
    }
    let allowed = Options { allow_plaintext: true, ..with_caller("pcst_1") };
    assert!(Client::connect("192.0.2.1:1", allowed).is_ok());
}

#[tokio::test]
async fn options_are_checked() {
    let file = Some(shared().folder.join("none"));
    let rows = [
        ("no file", "", Options { caller_token_file: file, ..Options::default() }),
        ("a token with spaces", "", with_caller("secret secret")),
        ("a token beyond ASCII", "", Options { iam_token: Some("secret\u{e9}".to_owned()), ..Options::default() }),
        ("no address", "a b", Options::default()),
    ];
    for (name, address, options) in rows {
        let error = Client::connect(address, options).unwrap_err();
        assert!(matches!(error, Error::Option { .. }) && !error.to_string().contains("secret"), "{name}: {error}");
    }
    let shown = format!("{:?}", connect(with_caller(OPERATOR)));
    assert!(!shown.contains(OPERATOR), "{shown}");
}

#[test]
fn a_client_outside_a_runtime_is_an_error() {
    assert!(matches!(Client::connect("127.0.0.1:1", Options::default()), Err(Error::Option { .. })));
}

/// A key and a certificate for this machine, from an authority of the tests, and the trust in it.
fn write_certificate() -> ClientTlsConfig {
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.distinguished_name.push(DnType::CommonName, "authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let trusted = authority.self_signed(&authority_key).unwrap().pem();
    let mut params = CertificateParams::new(vec!["follower.example".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "sidecar");
    params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap().pem();
    shared().write("authority.pem", &trusted);
    shared().write("certificate.pem", &certificate);
    shared().write("key.pem", key.serialize_pem());
    ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&trusted))
        .identity(Identity::from_pem(&certificate, key.serialize_pem()))
}

async fn expect_local(address: &str, options: Options) {
    let client = Client::connect(address, Options { local: Some(Local::default()), ..options }).unwrap();
    // It says what is wrong, where a follower only tries again.
    assert!(balance(&client, fixed()).await.allowed());
    eventually("the client follows", async || client.is_following()).await;
    assert!(balance(&client, fixed()).await.allowed());
    let answer = balance(&client, fixed()).await;
    assert!(answer.allowed() && is_from_memory(&answer));
}

#[tokio::test]
async fn over_tls() {
    let trusted = write_certificate();
    shared().write(
        "tls.yaml",
        "callers:
  - { name: follower, token_file: caller.token, rights: [follow] }
  - { name: job, certificate: { dns: follower.example }, rights: [follow] }
grpc: { tls: { certificate: certificate.pem, key: key.pem, client_ca: authority.pem } }
log: { level: error }
",
    );
    let sidecar = Sidecar::start(&shared().folder, "tls.yaml", "127.0.0.1:0", false);
    expect_local(&sidecar.address, Options { tls: Some(trusted), ..Options::default() }).await;
    let untrusted = Options { tls: Some(ClientTlsConfig::new()), ..Options::default() };
    let refused = try_balance(&Client::connect(&sidecar.address, untrusted).unwrap(), "x").await.unwrap_err();
    assert_eq!(refused.code(), Some(Code::Unavailable), "{refused}");
}

#[tokio::test]
async fn over_a_unix_socket() {
    let address = format!("unix:{}", shared().folder.join("grpc.sock").display());
    let sidecar = Sidecar::start(&shared().folder, "portcullis.yaml", &address, false);
    expect_local(&sidecar.address, with_caller(CALLER)).await;
}

#[test]
fn a_client_that_outlives_its_runtime_returns_errors() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for is_local in [false, true] {
        let first = runtime();
        let client = first.block_on(async {
            let client = if is_local { connect_local(Local::default()).await } else { connect(Options::default()) };
            assert!(balance(&client, fixed()).await.allowed());
            client
        });
        drop(first);
        runtime().block_on(async {
            // The memory gets no notifications, so it soon answers nothing.
            eventually("there is an error", async || try_balance(&client, fixed()).await.is_err()).await;
        });
    }
}
