//! The tokens that the sidecar has verified, by their values.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::question::{Scope, Subject, Token};
use crate::reason::Reason;
use crate::{times, v1};

/// Most addresses that are kept of one token.
pub(crate) const ADDRESSES_MAX: usize = 100;

/// A token that the sidecar has verified. Its texts are one string, and the fields that many tokens share are kept
/// once: a program may know tens of thousands of tokens, and the data of a check should be close together.
#[derive(Debug)]
pub(crate) struct Entry {
    texts: Box<str>,
    /// Where the value of the token, the first address, its id, the id and the name of its holder, and the id of its
    /// project end.
    ends: [u16; 6],
    /// The fault of the token at the first address. Unspecified: nothing.
    fault: Reason,
    /// Whether the token was used since eviction last came by.
    used: AtomicBool,
    pub(crate) like: Arc<Likeness>,
    /// In milliseconds since 1970. 0: never.
    pub(crate) expires_at: i64,
    issued_at: i64,
    /// `None`: there is nothing more to say.
    more: Option<Box<More>>,
}

/// The fields that many tokens share.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Likeness {
    pub(crate) kind: String,
    /// The header, and the scheme before the token, in lower case.
    pub(crate) place: String,
    pub(crate) account: String,
    pub(crate) project: String,
    holder_type: String,
}

/// The fields that few tokens have.
#[derive(Debug, Default)]
struct More {
    addresses: Vec<(String, Reason)>,
    roles: Vec<String>,
    authority: String,
    derived_from: Vec<String>,
}

#[derive(Clone, Copy)]
enum Text {
    Value,
    Address,
    Id,
    HolderId,
    HolderName,
    ProjectId,
}

impl Entry {
    /// `None`: the token is too long to be kept. No token of a directory is.
    pub(crate) fn new(
        place: &str,
        value: &str,
        token: &v1::VerifiedToken,
        address: &str,
        fault: Reason,
    ) -> Option<Entry> {
        let (none, nobody) = (v1::Scope::default(), v1::Subject::default());
        let (scope, holder) = (token.scope.as_ref().unwrap_or(&none), token.subject.as_ref().unwrap_or(&nobody));
        let texts = [value, address, &token.token_id, &holder.id, &holder.name, &token.project_id];
        let mut ends = [0; 6];
        let mut end = 0;
        for (into, text) in ends.iter_mut().zip(texts) {
            end += text.len();
            *into = u16::try_from(end).ok()?;
        }
        let more = More {
            roles: token.roles.clone(),
            authority: token.authority.clone(),
            derived_from: token.derived_from.clone(),
            ..More::default()
        };
        let is_more = !(more.roles.is_empty() && more.authority.is_empty() && more.derived_from.is_empty());
        Some(Entry {
            texts: texts.concat().into_boxed_str(),
            ends,
            fault,
            used: AtomicBool::new(false),
            like: Arc::new(Likeness {
                kind: token.kind.clone(),
                place: place.to_owned(),
                account: scope.account.clone(),
                project: scope.project.clone(),
                holder_type: holder.r#type.clone(),
            }),
            // At the beginning of 1970 it has expired, as at any other moment of that year.
            expires_at: token.expires_at.as_ref().map_or(0, |end| match times::day_millis(end) {
                0 => 1,
                other => other,
            }),
            issued_at: token.issued_at.as_ref().map_or(0, times::day_millis),
            more: is_more.then(|| Box::new(more)),
        })
    }

    fn text(&self, which: Text) -> &str {
        let index = which as usize;
        let end_of = |index: usize| self.ends.get(index).map_or(0, |&end| usize::from(end));
        let start = index.checked_sub(1).map_or(0, end_of);
        self.texts.get(start..end_of(index)).unwrap_or_default()
    }

    pub(crate) fn value(&self) -> &str {
        self.text(Text::Value)
    }

    /// Notes that the token is used.
    pub(crate) fn is_used(&self) {
        // A write would take the line of memory away from other threads.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the sidecar said the same of the token.
    pub(crate) fn is_same_as(&self, said: &Entry) -> bool {
        let texts = [Text::Id, Text::HolderId, Text::HolderName, Text::ProjectId];
        texts.into_iter().all(|which| self.text(which) == said.text(which))
            && self.like == said.like
            && (self.expires_at, self.issued_at) == (said.expires_at, said.issued_at)
            && self.derived_from() == said.derived_from()
    }

    fn derived_from(&self) -> &[String] {
        self.more.as_ref().map_or(&[], |more| &more.derived_from)
    }

    /// Names the token.
    pub(crate) fn id(&self) -> &str {
        self.text(Text::Id)
    }

    /// The fault of the token at an address (unspecified: none), if it is known.
    pub(crate) fn at(&self, address: &str) -> Option<Reason> {
        if self.text(Text::Address) == address {
            return Some(self.fault);
        }
        self.more.as_ref()?.addresses.iter().find(|(known, _)| known == address).map(|&(_, fault)| fault)
    }

    /// Adds the facts of an earlier entry of the same token about other addresses, as many as there is room for.
    pub(crate) fn add_addresses(&mut self, earlier: &Entry, room: usize) {
        let first = (earlier.text(Text::Address).to_owned(), earlier.fault);
        let others = earlier.more.iter().flat_map(|more| more.addresses.iter().cloned());
        let known = std::iter::once(first).chain(others);
        let known: Vec<_> = known.filter(|(address, _)| address != self.text(Text::Address)).take(room).collect();
        if !known.is_empty() {
            self.more.get_or_insert_default().addresses = known;
        }
    }

    /// How many pairs of token and address it stands for.
    pub(crate) fn pairs(&self) -> usize {
        1 + self.more.as_ref().map_or(0, |more| more.addresses.len())
    }

    pub(crate) fn token(&self) -> Token {
        let text = |which| self.text(which).to_owned();
        let more = self.more.as_deref();
        Token {
            kind: self.like.kind.clone(),
            scope: Scope { account: self.like.account.clone(), project: self.like.project.clone() },
            subject: Subject {
                id: text(Text::HolderId),
                name: text(Text::HolderName),
                kind: self.like.holder_type.clone(),
            },
            id: text(Text::Id),
            issued_at: times::system_time_of(self.issued_at),
            expires_at: if self.expires_at == 0 { None } else { times::system_time_of(self.expires_at) },
            roles: more.map(|more| more.roles.clone()).unwrap_or_default(),
            authority: more.map(|more| more.authority.clone()).unwrap_or_default(),
            project_id: text(Text::ProjectId),
            derived_from: more.map(|more| more.derived_from.clone()).unwrap_or_default(),
        }
    }
}

/// The void facts.
pub(crate) struct Void<'a> {
    tokens: HashSet<&'a str>,
    holders: HashSet<&'a str>,
    accounts: HashSet<&'a str>,
    projects: HashSet<&'a str>,
}

impl<'a> Void<'a> {
    pub(crate) fn of(voided: &'a v1::Voided) -> Void<'a> {
        let set = |texts: &'a [String]| texts.iter().map(String::as_str).collect();
        Void {
            tokens: set(&voided.token_ids),
            holders: set(&voided.user_ids),
            accounts: set(&voided.accounts),
            projects: set(&voided.project_ids),
        }
    }

    fn names(&self, each: &Entry) -> bool {
        let project = each.text(Text::ProjectId);
        self.tokens.contains(each.id())
            || self.holders.contains(each.text(Text::HolderId))
            || self.accounts.contains(each.like.account.as_str())
            || !project.is_empty() && self.projects.contains(project)
            || each.derived_from().iter().any(|id| self.tokens.contains(id.as_str()))
    }
}

/// The known tokens. A look-up hashes the whole value with a key of this table, and then compares the whole value. It holds
/// one of many locks, and a writer of the table holds each of them only to look at the few dozen tokens behind it.
///
/// A lock that was poisoned stays shut: its tokens are unknown, so the sidecar is asked about them.
pub(crate) struct TokenTable {
    hasher: DefaultHashBuilder,
    shards: Box<[RwLock<HashTable<Arc<Entry>>>]>,
    /// Of token and address.
    pairs: AtomicUsize,
    pairs_max: usize,
}

/// The state of the writer of a table.
#[derive(Default)]
pub(crate) struct Changing {
    /// The shard that eviction looks at next.
    cursor: usize,
    likes: HashSet<Arc<Likeness>>,
}

const TOKENS_OF_A_SHARD: usize = 32;
const SHARDS_MAX: usize = 1 << 16;

impl TokenTable {
    pub(crate) fn new(pairs_max: usize) -> TokenTable {
        let count = (pairs_max / TOKENS_OF_A_SHARD).clamp(1, SHARDS_MAX).next_power_of_two();
        TokenTable {
            hasher: DefaultHashBuilder::default(),
            shards: (0..count).map(|_| RwLock::default()).collect(),
            pairs: AtomicUsize::new(0),
            pairs_max,
        }
    }

    pub(crate) fn pairs_max(&self) -> usize {
        self.pairs_max
    }

    #[cfg(test)]
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.load(Ordering::Relaxed)
    }

    /// The upper bits choose the shard, because the table in it uses the others.
    fn shard(&self, hash: u64) -> Option<&RwLock<HashTable<Arc<Entry>>>> {
        self.shards.get((hash >> 32) as usize & (self.shards.len() - 1))
    }

    pub(crate) fn find(&self, value: &[u8]) -> Option<Arc<Entry>> {
        let hash = self.hasher.hash_one(value);
        self.shard(hash)?.read().ok()?.find(hash, |each| each.value().as_bytes() == value).cloned()
    }

    /// Adds an entry, in place of the one with the same value. Only one at a time may change the table.
    pub(crate) fn put(&self, changing: &mut Changing, mut added: Entry) {
        if self.pairs_max < added.pairs() {
            return;
        }
        match changing.likes.get(&added.like) {
            Some(known) => added.like = known.clone(),
            None => {
                if changing.likes.len() >= self.pairs_max {
                    changing.likes.retain(|like| Arc::strong_count(like) > 1);
                }
                changing.likes.insert(added.like.clone());
            }
        }
        let hash = self.hasher.hash_one(added.value().as_bytes());
        let Some(shard) = self.shard(hash) else { return };
        self.drop(added.value().as_bytes());
        self.evict(changing, self.pairs_max - added.pairs());
        let Ok(mut table) = shard.write() else { return };
        self.pairs.fetch_add(added.pairs(), Ordering::Relaxed);
        table.insert_unique(hash, Arc::new(added), |each| self.hasher.hash_one(each.value().as_bytes()));
    }

    /// Removes the entry with a value, if there is one.
    pub(crate) fn drop(&self, value: &[u8]) {
        let hash = self.hasher.hash_one(value);
        if let Some(shard) = self.shard(hash)
            && let Ok(mut table) = shard.write()
            && let Ok(known) = table.find_entry(hash, |each| each.value().as_bytes() == value)
        {
            let (known, _) = known.remove();
            self.pairs.fetch_sub(known.pairs(), Ordering::Relaxed);
        }
    }

    pub(crate) fn clear(&self, changing: &mut Changing) {
        self.remove_all(|_| true);
        *changing = Changing::default();
    }

    pub(crate) fn remove_void(&self, void: &Void<'_>) {
        self.remove_all(|each| void.names(each));
    }

    pub(crate) fn remove_all(&self, is_void: impl Fn(&Entry) -> bool) {
        for shard in &self.shards {
            self.remove(shard, &is_void);
        }
    }

    /// Removes those behind one lock that are void.
    fn remove(&self, shard: &RwLock<HashTable<Arc<Entry>>>, is_void: impl Fn(&Entry) -> bool) {
        let Ok(mut table) = shard.write() else { return };
        table.retain(|each| {
            let stays = !is_void(each);
            if !stays {
                self.pairs.fetch_sub(each.pairs(), Ordering::Relaxed);
            }
            stays
        });
        if table.is_empty() {
            // The room of a full table may not be needed again.
            *table = HashTable::new();
        }
    }

    /// Makes room: those go first that were not used since it last came by.
    fn evict(&self, changing: &mut Changing, room: usize) {
        let is_full = || self.pairs.load(Ordering::Relaxed) > room;
        for seen in 0..2 * self.shards.len() {
            if !is_full() {
                return;
            }
            let is_second_round = seen >= self.shards.len();
            if let Some(shard) = self.shards.get(changing.cursor) {
                self.remove(shard, |each| is_full() && (is_second_round || !each.used.swap(false, Ordering::Relaxed)));
            }
            changing.cursor = (changing.cursor + 1) % self.shards.len();
        }
    }
}
