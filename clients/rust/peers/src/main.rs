//! Compares a local check with libraries of Rust that decide in the calling process, on the same 90 questions: every API and
//! every kind of token of the shipped matrix. It prints one line of JSON, in nanoseconds for each decision. `SECONDS` says how
//! long a measurement lasts.
//!
//! ```sh
//! cd clients/rust/peers && cargo run --release
//! ```

mod questions;
mod sidecar;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use casbin::{CachedEnforcer, CoreApi as _, DefaultModel, Enforcer, MemoryAdapter, MgmtApi as _};
use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use portcullis_client::{Claims, Client, Local, Options, Question, Scope};
use questions::{Asked, questions_of, shipped_rules};
use regorus::{Engine, Value};

/// A library, which answers a question by its number.
type Decide = Box<dyn FnMut(usize) -> bool>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rules = shipped_rules()?;
    let asked = questions_of(&rules);
    let mut contenders: Vec<(&str, Decide)> = vec![
        ("client_ns", with_client(rules, &asked).await?),
        ("casbin_ns", with_casbin(&asked).await?),
        ("casbin_cached_ns", with_casbin_cached(&asked).await?),
        ("opa_ns", with_opa(&asked)?),
        ("cedar_ns", with_cedar(&asked)?),
    ];
    if asked.len() != 90 {
        return Err(format!("expected 90 questions, found {}", asked.len()).into());
    }
    for (name, decide) in &mut contenders {
        for (index, each) in asked.iter().enumerate() {
            if decide(index) != each.is_allowed {
                return Err(format!("{name}: another answer to {each:?}").into());
            }
        }
    }
    let seconds = std::env::var("SECONDS").map_or(Ok(1.0), |text| text.parse())?;
    let measured = measure(&mut contenders, asked.len(), Duration::from_secs_f64(seconds));
    let members: Vec<String> = measured.iter().map(|(name, nanos)| format!(r#""{name}":{nanos}"#)).collect();
    println!("{{{}}}", members.join(","));
    Ok(())
}

/// In slices, one contender after the other, so that a noisy machine is as noisy for each. The median of the slices counts.
fn measure<'a>(contenders: &mut [(&'a str, Decide)], count: usize, duration: Duration) -> Vec<(&'a str, u128)> {
    let mut slices: Vec<Vec<u128>> = contenders.iter().map(|_| Vec::new()).collect();
    let began = Instant::now();
    while began.elapsed() < duration * u32::try_from(contenders.len()).unwrap_or(1) {
        for ((_, decide), slices) in contenders.iter_mut().zip(&mut slices) {
            let (began, mut decisions) = (Instant::now(), 0);
            while decisions == 0 || began.elapsed() < duration / 20 {
                for index in 0..count {
                    black_box(decide(black_box(index)));
                }
                decisions += count as u128;
            }
            slices.push(began.elapsed().as_nanos() / decisions);
        }
    }
    let median = |mut all: Vec<u128>| {
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    };
    contenders.iter().map(|(name, _)| *name).zip(slices.into_iter().map(median)).collect()
}

async fn with_client(rules: portcullis_client::v1::Rules, asked: &[Asked]) -> Result<Decide, Box<dyn Error>> {
    let address = sidecar::start(rules).await?;
    let client = Client::connect(&address, Options { local: Some(Local::default()), ..Options::default() })?;
    let target = Scope::project("1", "p");
    let scope = |each: &Asked| if each.is_of_project { target.clone() } else { Scope::account("1") };
    let claims: Vec<_> =
        asked.iter().map(|each| (each.api.clone(), Claims { kind: each.kind.clone(), scope: scope(each) })).collect();
    // What is said about each denial is asked for once, as soon as the client follows.
    for (api, claims) in &claims {
        let question = Question::of_claims(api, claims).target(&target);
        while client.check(&question).await?.response().is_some() {}
    }
    Ok(Box::new(move |index| {
        let Some((api, claims)) = claims.get(index) else { return false };
        let question = Question::of_claims(api, claims).target(&target);
        client.check_locally(&question).is_some_and(|answer| answer.allowed())
    }))
}

const CASBIN_MODEL: &str = "
[request_definition]
r = sub, obj
[policy_definition]
p = sub, obj
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj
";

fn casbin_policies(asked: &[Asked]) -> Vec<Vec<String>> {
    asked.iter().filter(|each| each.is_allowed).map(|each| vec![each.kind.clone(), each.api.clone()]).collect()
}

fn pairs(asked: &[Asked]) -> Vec<(String, String)> {
    asked.iter().map(|each| (each.kind.clone(), each.api.clone())).collect()
}

async fn with_casbin(asked: &[Asked]) -> Result<Decide, Box<dyn Error>> {
    let mut enforcer = Enforcer::new(DefaultModel::from_str(CASBIN_MODEL).await?, MemoryAdapter::default()).await?;
    enforcer.add_policies(casbin_policies(asked)).await?;
    let pairs = pairs(asked);
    Ok(Box::new(move |index| {
        pairs.get(index).is_some_and(|(kind, api)| enforcer.enforce((kind.as_str(), api.as_str())).unwrap_or(false))
    }))
}

async fn with_casbin_cached(asked: &[Asked]) -> Result<Decide, Box<dyn Error>> {
    let mut enforcer =
        CachedEnforcer::new(DefaultModel::from_str(CASBIN_MODEL).await?, MemoryAdapter::default()).await?;
    enforcer.add_policies(casbin_policies(asked)).await?;
    let pairs = pairs(asked);
    Ok(Box::new(move |index| {
        pairs.get(index).is_some_and(|(kind, api)| enforcer.enforce((kind.as_str(), api.as_str())).unwrap_or(false))
    }))
}

/// OPA's language, as the engine of Rust for it runs it.
fn with_opa(asked: &[Asked]) -> Result<Decide, Box<dyn Error>> {
    let mut accepts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for each in asked.iter().filter(|each| each.is_allowed) {
        accepts.entry(&each.api).or_default().insert(&each.kind);
    }
    let object = |members: Vec<String>| format!("{{{}}}", members.join(","));
    let kinds = |kinds: &BTreeSet<&str>| object(kinds.iter().map(|kind| format!(r#""{kind}":true"#)).collect());
    let rows = accepts.iter().map(|(api, all)| format!(r#""{api}":{}"#, kinds(all))).collect();
    let policy =
        "package portcullis\nimport rego.v1\ndefault allow := false\nallow if data.accepts[input.api][input.kind]\n";
    let mut engine = Engine::new();
    engine.add_policy("portcullis.rego".to_owned(), policy.to_owned())?;
    engine.add_data_json(&format!(r#"{{"accepts":{}}}"#, object(rows)))?;
    let input = |each: &Asked| Value::from_json_str(&format!(r#"{{"api":"{}","kind":"{}"}}"#, each.api, each.kind));
    let inputs = asked.iter().map(input).collect::<Result<Vec<Value>, _>>()?;
    Ok(Box::new(move |index| {
        engine.set_input(inputs.get(index).cloned().unwrap_or(Value::Undefined));
        engine.eval_rule("data.portcullis.allow".to_owned()).is_ok_and(|allowed| allowed == Value::from(true))
    }))
}

fn with_cedar(asked: &[Asked]) -> Result<Decide, Box<dyn Error>> {
    // One policy for each kind takes less time than one for each cell.
    let mut apis: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for each in asked.iter().filter(|each| each.is_allowed) {
        apis.entry(&each.kind).or_default().push(format!(r#"Api::"{}""#, each.api));
    }
    let permit = |(kind, apis): (&&str, &Vec<String>)| {
        let all = apis.join(", ");
        format!(
            r#"permit (principal == Kind::"{kind}", action == Action::"open", resource) when {{ [{all}].contains(resource) }};"#
        )
    };
    let policies: PolicySet = apis.iter().map(permit).collect::<String>().parse()?;
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    let action: EntityUid = r#"Action::"open""#.parse()?;
    let mut requests = Vec::new();
    for each in asked {
        let (kind, api) = (format!(r#"Kind::"{}""#, each.kind).parse()?, format!(r#"Api::"{}""#, each.api).parse()?);
        requests.push(Request::new(kind, action.clone(), api, Context::empty(), None)?);
    }
    Ok(Box::new(move |index| {
        requests.get(index).is_some_and(|request| {
            authorizer.is_authorized(request, &policies, &entities).decision() == Decision::Allow
        })
    }))
}
