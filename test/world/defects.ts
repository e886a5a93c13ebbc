/**
 * Defects that a change could bring: each changes one place of the code, or two. A search that does not find
 * them would not find others either.
 */

/** The search that finds a defect: simulated fleets, kills, cut power, or a day by a fast clock. */
export type Driver = 'simulated' | 'killed' | 'cut power' | 'fast clock'

interface Place {
  /** Path in the checkout. */
  readonly file: string
  /** The code that is there once, and what stands in its place. */
  readonly code: string
  readonly instead: string
}

export interface Defect extends Place {
  readonly name: string
  readonly also?: Place
  /** Default: simulated. */
  readonly foundBy?: Driver
}

const FEED = 'sidecar/directory/feed'
const PANEL = 'sidecar/authority/control-panel'
const HUB = 'sidecar/authority/hub'

export const DEFECTS: readonly Defect[] = [
  {
    name: 'a bound is ignored',
    file: `${FEED}/notified-changes.ts`,
    code: 'return this.#now() < this.#knownUntilMs ? this.#followed?.recent.moment : undefined',
    instead: 'return this.#followed?.recent.moment',
  },
  {
    name: 'a hub promises more than it knows',
    file: 'sidecar/contract/followers.ts',
    code: 'const validForMs = changes.knownForMs() ?? 0',
    instead: 'const validForMs = 1_000',
  },
  {
    name: 'a record that is read touches nothing',
    file: `${FEED}/followed-changes.ts`,
    code: '    this.#note(records)\n    this.#advance(records)\n',
    instead: '    this.#advance(records)\n',
  },
  {
    name: 'a gap in the notifications is not asked about',
    file: `${FEED}/followed-changes.ts`,
    code: 'const isNext = previous.sequence === sequence && previous.atMs === atMs',
    instead: 'const isNext = previous.sequence >= 0 || previous.atMs === atMs',
  },
  {
    name: 'a key is remembered whatever was changed',
    file: 'sidecar/authority/static-token-verifier.ts',
    code: 'if (known !== undefined && moment !== undefined && changes.isTrue(known)) return known',
    instead: 'if (known !== undefined && moment !== undefined) return known',
  },
  {
    name: 'what was true before everything was touched still counts',
    file: `${FEED}/recent-changes.ts`,
    code: 'if (remembered.moment < this.#since || this.#wasTouched(remembered)) return false',
    instead: 'if (this.#wasTouched(remembered)) return false',
  },
  {
    name: 'a call joins a question that was asked before a change',
    file: `${FEED}/shared-questions.ts`,
    code: 'if (asked !== undefined && asked.moment === moment) return asked.answer',
    instead: 'if (asked !== undefined) return asked.answer',
  },
  {
    name: 'the moment is taken after the answer',
    file: 'sidecar/authority/embedded.ts',
    code: 'Object.assign(seen, { kind, status, moment })',
    instead: 'Object.assign(seen, { kind, status, moment: changes.moment() ?? moment })',
  },
  {
    name: 'a change of one’s own is not noted',
    file: 'sidecar/directory/postgres.ts',
    code: '        heard = this.hear(recorded())\n',
    instead: '',
  },
  {
    name: 'a change is acknowledged before it is known what came before it',
    file: `${FEED}/notified-changes.ts`,
    code: 'if (this.#followed?.touch(records) !== false) return',
    instead: 'return void this.#followed?.touch(records)',
  },
  {
    name: 'other workers are told, and not waited for',
    file: 'sidecar/directory/store.ts',
    code: 'if (recorded().length > 0) await this.#onChanged(recorded())',
    instead: 'if (recorded().length > 0) void this.#onChanged(recorded())',
  },
  {
    name: 'another worker does not hear what it is told',
    file: 'sidecar/process/workers/worker-changes.ts',
    code: "'records' in change ? this.#hear(change.records) :",
    instead: "'records' in change ? undefined :",
  },
  {
    name: 'the disabling of a project touches nothing',
    file: `${FEED}/touches.ts`,
    code: "'project.disable': 'project',",
    instead: "'project.disable': 'nothing',",
  },
  {
    name: 'a right is not checked again in the transaction',
    file: 'sidecar/usecases/administration/administer.ts',
    code: 'const requester = await confirm(change.records)',
    instead: 'const { requester } = context',
  },
  {
    name: 'a file of keys is read once',
    file: 'sidecar/authority/keys.ts',
    code: '    if (this.#file.reload()) this.#readableAtMs = this.#lookedAtMs',
    instead: '    this.#readableAtMs = this.#lookedAtMs',
  },
  {
    name: 'a follower goes on when a key was withdrawn',
    file: 'sidecar/contract/followers.ts',
    code: 'if (isWithdrawn || kinds !== before.kinds) for',
    instead: 'if (kinds !== before.kinds) for',
  },
  {
    name: 'what a hub says counts from its arrival',
    file: `${HUB}/hub-changes.ts`,
    code: 'before : sentMs + Math.min(validForMs, this.#stalenessMs)',
    instead: 'before : this.#now() + this.#stalenessMs + 0 * sentMs * validForMs',
  },
  {
    name: 'an answer that is ahead of the stream is remembered',
    file: `${HUB}/hub-authority.ts`,
    code: 'if (isCurrent) this.#known.set(digest, given)',
    instead: 'if (moment !== undefined) this.#known.set(digest, known)',
  },
  {
    name: 'a program remembers an answer that rests on other keys',
    file: 'clients/typescript/local-memory.ts',
    code: 'if (position.basis !== this.#position?.basis) return undefined',
    instead: '',
  },
  {
    name: 'a follower remembers an answer that rests on other keys',
    file: `${HUB}/hub-changes.ts`,
    code: ' && basis === this.#basis',
    instead: '',
  },
  {
    name: 'what a hub voids stays',
    file: `${HUB}/hub-changes.ts`,
    code: 'else for (const each of touched) this.#touch(each, position)',
    instead: '',
  },
  {
    name: 'a program remembers an answer from before what it was told',
    file: 'clients/typescript/local-memory.ts',
    code: 'if (age !== this.#age || from === undefined || isBefore(position, from)) return undefined',
    instead: 'if (from === undefined) return undefined',
  },
  {
    name: 'a program decides without word from its sidecar',
    file: 'clients/typescript/local-memory.ts',
    code: 'const isValid = nowMs < this.#knownUntilMs\n    if (credentials === undefined)',
    instead: 'const isValid = true\n    if (credentials === undefined)',
  },
  {
    name: 'a promotion is not followed',
    file: 'sidecar/process/open/promotion.ts',
    code: 'this.#stopWatching = parts.promoted.watch(() => void this.#followOn())',
    instead: 'this.#stopWatching = parts.promoted.watch(() => {})',
  },
  {
    name: 'an invitation is not looked for again in the transaction',
    file: 'sidecar/usecases/control-panel/log-in.ts',
    code: "const { user } = await links.find(secret, 'invitation', change.records)",
    instead: 'const { user } = invitation',
  },
  {
    name: 'a link that logs in is not used up',
    file: 'sidecar/usecases/control-panel/log-in.ts',
    code: '      await new PanelChange(change).removeLink(hash)\n',
    instead: '',
  },
  {
    name: 'a link has no end',
    file: `${PANEL}/links.ts`,
    code: ' || LINK_LIMIT.isOver(link.endsAtMs, this.#parts.now())',
    instead: '',
  },
  {
    name: 'an invitation outlives the right of an administrator',
    file: 'sidecar/directory/change.ts',
    code: '    if (had && !has) await this.#endInvitationsIn(user.account)\n',
    instead: '',
  },
  {
    name: 'a one-time code is used again',
    file: 'sidecar/directory/factor-change.ts',
    code: ' AND last_step < :step RETURNING',
    instead: ' RETURNING',
  },
  {
    name: 'an exchanged file is read on',
    file: 'sidecar/directory/exchange-watch.ts',
    code: '    if (this.#files.wereExchanged(performance.now())) this.#fail()\n',
    instead: '',
  },
  {
    name: 'a damaged file is used',
    file: 'sidecar/directory/sqlite.ts',
    code: '    if (isChecked) writer.expectWhole(path)\n',
    instead: '',
  },
  {
    name: 'a challenge is answered again',
    file: 'sidecar/directory/factor-change.ts',
    code: 'return used !== undefined\n  }\n\n  #all',
    instead: 'return true || used\n  }\n\n  #all',
  },
  {
    name: 'a change for which the disk had no room is acknowledged',
    file: 'sidecar/directory/sqlite.ts',
    code: "      this.#execute('COMMIT')\n",
    instead: "      try {\n        this.#execute('COMMIT')\n      } catch {}\n",
  },
  {
    name: 'a follower that has gone is kept',
    file: 'sidecar/contract/followers.ts',
    code: '    this.#all.delete(follower)\n    if (this.#all.size > 0) return\n',
    instead: '    if (this.#all.size > 1) return\n    this.#all.delete(follower)\n',
  },
  {
    name: 'a stream that is given up goes on',
    file: 'sidecar/authority/hub/hub-line.ts',
    code: "stream.on('error', () => {}).cancel()",
    instead: "stream.on('error', () => {})",
  },
  {
    name: 'a restart forgets what was known',
    file: `${FEED}/known-position.ts`,
    code: '    this.#last = lastIn(folder)\n',
    instead: '',
  },
  {
    name: 'a change and its record are two transactions',
    foundBy: 'killed',
    file: 'sidecar/directory/change-writer.ts',
    code: '    this.#isEnding = true\n',
    instead: `    await this.queries.all('COMMIT')
    await this.queries.all('BEGIN IMMEDIATE')
    this.#isEnding = true\n`,
  },
  {
    name: 'records are deleted before the file that has them is there',
    foundBy: 'killed',
    file: 'sidecar/authority/administration/audit-archive.ts',
    code: `    writeWhole(file, old.map(auditLine).join(''))\n`,
    instead: `    await changeDirectory(store, RETENTION, (change) => change.forgetAudit(last.sequence, file))
    writeWhole(file, old.map(auditLine).join(''))\n`,
  },
  {
    name: 'a directory is away while a backup takes its place',
    foundBy: 'killed',
    file: 'sidecar/directory/backup/install-file.ts',
    code: '  linkSync(file, keptAs)\n',
    instead: '  renameSync(file, keptAs)\n',
  },
  {
    name: 'changes are not made to last',
    foundBy: 'cut power',
    file: 'sidecar/directory/sqlite.ts',
    code: 'PRAGMA synchronous = FULL',
    instead: 'PRAGMA synchronous = OFF',
    also: {
      file: 'sidecar/directory/write-ahead-log.ts',
      code: '    fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)))\n',
      instead: '    setImmediate(() => (descriptor < 0 ? reject(fdatasync) : resolve()))\n',
    },
  },
  {
    name: 'what is remembered of a token is never void',
    foundBy: 'fast clock',
    file: `${FEED}/recent-changes.ts`,
    code: 'if (remembered.moment < this.#since || this.#wasTouched(remembered)) return false',
    instead: 'if (remembered.moment < this.#since) return false',
  },
]

export function defectsOf(driver: Driver): readonly Defect[] {
  return DEFECTS.filter(({ foundBy = 'simulated' }) => foundBy === driver)
}

export function placesOf(defect: Defect): readonly Place[] {
  return [defect, ...(defect.also === undefined ? [] : [defect.also])]
}

/** The module that puts a defect into the code of the process that loads it (`--import`). */
export function moduleOf(name: string): string {
  return new URL(`./with-defect.ts?${encodeURIComponent(name)}`, import.meta.url).href
}
