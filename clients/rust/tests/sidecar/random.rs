//! Random questions to a client in local mode, and to the sidecar. `QUESTIONS` says how many: 1,000,000 in the nightly size.

use portcullis_client::{Answer, Claims, Credentials, Local, Options, Question, Scope};

use super::fake::rules;
use super::local::expect_same;
use super::support::{ACCOUNT, OTHER_ACCOUNT, connect, connect_local, fixed, is_from_memory, issue_token, shared};

/// A small generator (splitmix64), so that a failure can be played again from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }

    fn one<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

struct Asked<'a> {
    api: &'a str,
    address: &'a str,
    headers: Vec<(&'a str, &'a [u8])>,
    claims: Option<Claims>,
    target: Option<Scope>,
}

impl Asked<'_> {
    fn question(&self) -> Question<'_> {
        let credentials = self.claims.as_ref().map_or(Credentials::Pairs(&self.headers), Credentials::Claims);
        Question {
            api: self.api,
            credentials,
            target: self.target.as_ref(),
            client_address: self.address,
            request: None,
        }
    }
}

#[tokio::test]
async fn local_answers_are_those_of_the_sidecar() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let count = usize::try_from(number("QUESTIONS").unwrap_or(10_000)).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let seed = number("SEED").unwrap_or(u64::try_from(now).unwrap());
    println!("SEED={seed}");
    let mut random = Random(seed);
    let (client, direct) = (connect_local(Local::default()).await, connect(Options::default()));
    let (iam, project) = (issue_token("account", "").await, issue_token("alpha", "alpha").await);
    let tokens =
        [fixed(), &shared().secrets["stranger"], &iam, &project, &shared().many[0], "unknown", "", "a b", "a,b"];
    let rules = rules("shipped");
    let apis: Vec<&str> =
        rules.apis.iter().map(|row| if row.api.is_empty() { "no-such-api" } else { &row.api }).collect();
    let scope = |random: &mut Random| {
        let account = random.one(&[ACCOUNT, ACCOUNT, ACCOUNT, OTHER_ACCOUNT]);
        Scope::project(account, random.one(&["", "", "alpha", "beta"]))
    };
    let mut ask = || {
        let mut asked = Asked {
            api: random.one(&apis),
            address: random.one(&["", "192.0.2.1", "2001:db8::1"]),
            headers: Vec::new(),
            claims: None,
            target: (random.below(4) > 0).then(|| scope(&mut random)),
        };
        if random.below(5) == 0 {
            let kinds = ["static_token", "iam_token_account_scoped", "iam_token_project_scoped", "no-such-kind", ""];
            asked.claims = Some(Claims { kind: random.one(&kinds).to_owned(), scope: scope(&mut random) });
        }
        for _ in 0..1 + random.below(5) / 4 {
            let name = random.one(&["X-Token", "x-auth-token", "X-AUTH-TOKEN", "x-token", "X-Other"]);
            asked.headers.push((name, random.one(&tokens).as_bytes()));
        }
        asked
    };
    let (mut done, mut from_sidecar) = (0, 0);
    while done < count {
        let batch: Vec<Asked<'_>> = (0..500.min(count - done)).map(|_| ask()).collect();
        let questions: Vec<_> = batch.iter().map(Asked::question).collect();
        done += batch.len();
        let expected = direct.check_batch(&questions).await.unwrap();
        for (question, expected) in questions.iter().zip(&expected) {
            let found: Answer = client.check(question).await.unwrap();
            let headers = match question.credentials {
                Credentials::Pairs(pairs) => format!("{pairs:?}"),
                Credentials::Claims(claims) => format!("{claims:?}"),
                _ => String::new(),
            };
            let what = format!("seed {seed}: {} {headers} {:?}", question.api, question.target);
            if is_from_memory(&found) {
                expect_same(&what, &found, expected);
            } else {
                assert_eq!(found.allowed(), expected.allowed(), "{what}");
                from_sidecar += 1;
            }
        }
    }
    if count > 5_000 {
        assert!(
            from_sidecar < count / 2,
            "expected that most answers come from memory, found {from_sidecar} questions"
        );
    }
}
