/*
 * The directory as seen by one token: its changes have numbers, changes may be lost so that others take their
 * numbers, a restoration accepts that by a number of its own, and a key may be withdrawn. Who follows it is in follower.pml. docs/decide/staleness.md says what is shown, and
 * test/interop/model.test.ts runs it.
 *
 * A comment `do: FILE NAME` above an action names the code that does it; a test looks for each name there.
 */

/* The staleness bound, in ticks. */
#ifndef BOUND
#define BOUND 2
#endif
/* How many records are made, how many of them by restorations, and how often the keys change, at most. */
#ifndef RECORDS
#define RECORDS 3
#endif
#ifndef RESTORATIONS
#define RESTORATIONS 1
#endif
#ifndef KEY_CHANGES
#define KEY_CHANGES 0
#endif

/* Traces count microseconds and many records; a search counts ticks, and ages beyond the bound are one. */
#ifdef TRACE
#define ID short
#define AGE int
#define AGE_MAX 1000000000
#else
#define ID byte
#define AGE byte
#define AGE_MAX BOUND
#endif

/* The fault that is put in on purpose, by the environment variable `FAULT`; 0: none. */
byte fault;
#define has(name) (fault == name)

/* What a record touches: the token or what it depends on, something else, or it does not say. */
#define TOKEN 0
#define OTHER 1
#define ALL 2

/* The key that signed the token, and another one: a set of keys is a sum. */
#define OWN_KEY 1
#define OTHER_KEY 2

#define NONE (RECORDS + 1)

/* A record is named by its place here, as the code names it by number and time. */
typedef Record {
  ID number;
  /* The record before it. The first one of a history has none: it is its own. */
  ID parent;
  byte touched;
  /* Whether it stands for everything that is lost: an operator has ended what that may have been. */
  bit accepts;
  /* Whether the token is in force after it. */
  bit inForce
}

Record record[RECORDS + 1];
ID made;
/* The newest record. */
ID last;
/* The largest number that was ever given. */
ID highest;
byte restorations;
byte keyChanges;
byte keys = OWN_KEY + OTHER_KEY;
/* For how long the token is not in force, and for how long its key does not count. */
AGE endedFor;
AGE withdrawnFor;

#define isInForce (record[last].inForce)
#define isGenuine(set) ((set & OWN_KEY) != 0)
/* It has ended for the bound or longer. */
#define isOver(age) (age >= BOUND)

/* Values within a step. */
hidden ID x;
hidden byte found;
hidden byte isUnsaid;
hidden byte touchesToken;

/* The highest record that the follower was ever told, whatever it has forgotten. */
ID knew = NONE;
/* Whether the follower was told that the token has ended, and that is lost. */
bit isEndLost;

inline add(before, number_, touched_, inForce_) {
  made++;
  record[made].number = number_;
  record[made].parent = before;
  record[made].touched = touched_;
  record[made].inForce = inForce_;
  highest = (record[made].number > highest -> record[made].number : highest);
  last = made;
  noteLost();
  endedFor = (record[last].inForce && !isEndLost -> 0 : endedFor)
}

/*
 * Whether the directory has a record, or one that stands for it.
 * do: sidecar/directory/last-change.ts presenceOf
 */
inline findHas(id) {
  x = last;
  found = (id == NONE);
  do
  :: !found ->
    found = (x == id || record[x].accepts);
    if :: record[x].parent == x -> break :: else -> x = record[x].parent fi
  :: else -> break
  od
}

/* @see `knew` in follower.pml */
inline noteLost() {
  findHas(knew);
  isEndLost = (!found && !record[knew].inForce)
}

/* Whether a record is another one, or before it in the same history. */
inline findBefore(older, newer) {
  x = newer;
  do
  :: x != older && record[x].parent != x -> x = record[x].parent
  :: else -> break
  od;
  found = (x == older)
}

/*
 * Whether the token was touched after a record, up to another one, or that is not said.
 * @param first where the list of the reader begins
 */
inline findTouched(after, until, first) {
  isUnsaid = (after == NONE);
  touchesToken = 0;
  x = until;
  do
  :: !isUnsaid && x != after && x != first ->
    isUnsaid = (record[x].touched == ALL);
    touchesToken = touchesToken || record[x].touched == TOKEN;
    x = record[x].parent
  :: else -> break
  od;
  isUnsaid = isUnsaid || x != after
}

/* do: sidecar/directory/feed/touches.ts touchText */
inline change(touched_, inForce_) {
  add(last, record[last].number + 1, touched_, inForce_)
}

/*
 * The tables of a backup, and a record that says so.
 * do: sidecar/directory/backup/scratch.ts record
 */
inline restore(backup) {
  restorations++;
  record[made + 1].accepts = 1;
  add(backup, highest + 1, ALL, record[backup].inForce)
}

/*
 * Changes are lost: the numbers are some that were there, and the records are others.
 * do: sidecar/directory/feed/followed-changes.ts startAgain
 */
inline replace(number_, inForce_) {
  restorations++;
  found = made + 1;
  add(found, number_, ALL, inForce_)
}

/* do: sidecar/authority/keys.ts KeyRing */
inline setKeys(set) {
  keyChanges++;
  keys = set;
  withdrawnFor = (isGenuine(keys) -> 0 : withdrawnFor)
}

inline grow(value, ticks) {
  value = (value + (ticks) < AGE_MAX -> value + (ticks) : AGE_MAX)
}

inline runDown(value, ticks) {
  value = (value > (ticks) -> value - (ticks) : 0)
}

inline ageDirectory(ticks) {
  if :: !isInForce || isEndLost -> grow(endedFor, ticks) :: else fi;
  if :: !isGenuine(keys) -> grow(withdrawnFor, ticks) :: else fi
}
