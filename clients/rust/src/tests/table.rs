//! The table of known tokens while many use it at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::reason::Reason;
use crate::tokens::{Changing, Entry, TokenTable, Void};
use crate::v1;

fn entry(value: &str) -> Entry {
    let token = v1::VerifiedToken {
        token_id: format!("id-{value}"),
        kind: "static_token".to_owned(),
        scope: Some(v1::Scope { account: format!("account-{}", value.len()), project: String::new() }),
        ..Default::default()
    };
    Entry::new("x-token", value, &token, "192.0.2.1", Reason::Unspecified).unwrap()
}

#[test]
fn a_table_knows_at_most_so_many_pairs() {
    for pairs_max in [1, 2, 31, 1_000] {
        let (table, mut changing) = (TokenTable::new(pairs_max), Changing::default());
        for index in 0..3 * pairs_max {
            let value = format!("value-{index}");
            table.put(&mut changing, entry(&value));
            assert!(table.pairs() <= pairs_max);
            assert_eq!(table.find(value.as_bytes()).unwrap().value(), value);
        }
        let known =
            (0..3 * pairs_max).filter(|index| table.find(format!("value-{index}").as_bytes()).is_some()).count();
        assert_eq!((known, table.pairs()), (pairs_max, pairs_max));
        table.clear(&mut changing);
        assert_eq!(table.pairs(), 0);
    }
}

#[test]
fn a_token_that_is_used_stays() {
    let (table, mut changing) = (TokenTable::new(100), Changing::default());
    table.put(&mut changing, entry("used"));
    for index in 0..1_000 {
        table.find(b"used").unwrap().is_used();
        table.put(&mut changing, entry(&format!("value-{index}")));
    }
    assert!(table.find(b"used").is_some());
}

#[test]
fn a_token_that_is_void_is_never_found_again_while_others_change() {
    let table = TokenTable::new(2_000);
    let (ended, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let finds = AtomicU64::new(0);
    thread::scope(|scope| {
        for reader in 0..3_u64 {
            let (table, ended, is_done, finds) = (&table, &ended, &is_done, &finds);
            scope.spawn(move || {
                let mut step = reader;
                while !is_done.load(Ordering::Acquire) {
                    step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(reader | 1);
                    let before = ended.load(Ordering::Acquire);
                    let number = before.saturating_sub(50) + (step >> 33) % 100;
                    let value = format!("value-{number}");
                    let Some(found) = table.find(value.as_bytes()) else { continue };
                    finds.fetch_add(1, Ordering::Relaxed);
                    found.is_used();
                    assert_eq!((found.value(), found.id()), (value.as_str(), format!("id-{value}").as_str()));
                    assert!(number >= before, "expected that {value} is void since {before}");
                }
            });
        }
        // Each token is put, and is void a while later. Others fill the table, so that it must make room.
        let mut changing = Changing::default();
        for number in 0..4_000_u64 {
            table.put(&mut changing, entry(&format!("value-{}", number + 40)));
            table.put(&mut changing, entry(&format!("other-{number}")));
            if number % 8 == 0 {
                let token_ids = (number.saturating_sub(8)..=number).map(|each| format!("id-value-{each}")).collect();
                table.remove_void(&Void::of(&v1::Voided { token_ids, ..Default::default() }));
                ended.store(number + 1, Ordering::Release);
            }
        }
        is_done.store(true, Ordering::Release);
    });
    assert!(finds.load(Ordering::Relaxed) > 0);
}
