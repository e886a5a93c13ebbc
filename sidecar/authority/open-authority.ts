/** Opens the embedded authority of a data folder: its directory, its signing keys and its pepper. */
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '../../engine/index.ts'
import {
  DIRECTORY_FILE,
  expectPrivateIn,
  openDataFolder,
  PEPPER_FILE,
  readOrCreate,
  SECRET_FILES,
  SIGNING_KEYS_FILE,
} from '../base/data-folder.ts'
import type { Tracer } from '../base/tracing.ts'
import { Turns } from '../base/turns.ts'
import type { Changes, ChangesState } from '../directory/feed/changes.ts'
import { KNOWN_CHANGE, KnownPosition } from '../directory/feed/known-position.ts'
import { openDirectory, type SharedDirectory } from '../directory/open-directory.ts'
import type { DirectoryStore } from '../directory/store.ts'
import { trusted } from './actor.ts'
import type { Administration } from './administration/administration.ts'
import { changeDirectory } from './administration/change-directory.ts'
import { SecretMaker } from './administration/secrets.ts'
import type { Authority } from './authority.ts'
import type { ControlPanel } from './control-panel/control-panel.ts'
import type { SessionLimits } from './control-panel/parts.ts'
import { EmbeddedAuthority } from './embedded.ts'
import type { TokenNames } from './iam-claims.ts'
import { IamTokenSigner } from './iam-token.ts'
import { KeyRing, type SigningKey } from './keys.ts'
import { PanelTokens } from './panel-tokens.ts'
import { type PasswordLimits, Passwords } from './password.ts'
import { type PromotedMatrices, promotedIn } from './promoted-matrices.ts'
import { fingerprintOf, pepperOf } from './static-token.ts'
import { StaticTokenUses } from './static-token-uses.ts'
import type { LoginThrottle } from './throttle.ts'

export interface OpenedAuthority {
  readonly authority: Authority
  readonly administration: Administration
  /** The changes of the directory. */
  readonly changes: Changes
  readonly promoted: PromotedMatrices
  /** Names the basis of genuine tokens: each key by its id, or the basis of a hub. */
  trusted(): readonly string[]
  /** Its state for metrics. */
  state(): AuthorityState
  close(): Promise<void>
}

export interface AuthorityState {
  /** The signing keys that were read last. */
  readonly keys: readonly Pick<SigningKey, 'keyId' | 'state' | 'sinceMs'>[]
  /** Whether one of them signs. */
  readonly signs: boolean
  /** How many wait, by queue and lane. */
  readonly waiting: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Entries of the caches. */
  readonly cached: Readonly<Record<string, number>>
  /** How it follows the changes of the directory. */
  readonly changes: ChangesState
}

export interface OpenOptions extends AuthorityEvents {
  /**
   * Contains the keys and the pepper of this host. Hosts that share a directory must have the same
   * `signing-keys.json` and `static-token-pepper`.
   */
  readonly folder: string
  /** A directory that several hosts share. By default the directory is a file in the folder. */
  readonly shared?: SharedDirectory | undefined
  /** Where it is kept which change of a shared directory is known; default: `folder`. */
  readonly knownFolder?: string | undefined
  /** The issuer and audience that IAM tokens name; default: none. */
  readonly tokenNames?: TokenNames | undefined
  /** Returns that of the matrix in force. */
  readonly engine: () => Engine
  readonly passwordLimits: PasswordLimits
  /** Most changes of the directory that wait in each lane; default: 1,000. */
  readonly changesWaiting?: number | undefined
  /**
   * How long followers of a directory file may answer without further word, in milliseconds; default: 5,000.
   */
  readonly stalenessMs?: number | undefined
  readonly failedLogins: LoginThrottle
  /** Most tokens of each kind that are remembered; default: as many as a sixteenth of the memory holds. */
  readonly rememberedTokens?: number | undefined
  /** How long sessions of the control panel last; default: as the configuration has it by default. */
  readonly sessionLimits?: SessionLimits | undefined
  /** For signatures that must be verified; default: not shared. */
  readonly turns?: Turns | undefined
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Time between two looks at the file of signing keys, in milliseconds; default: 1,000. */
  readonly keyPollMs?: number | undefined
  /**
   * How long the last good signing keys are used while their file cannot be read, in milliseconds; default:
   * 5,000.
   */
  readonly keysUnreadableMs?: number | undefined
  /** `undefined`: there are no traces. */
  readonly tracer?: Tracer | undefined
}

/** Events that an operator should see, for example in the log. */
export interface AuthorityEvents {
  /** The new content of the signing keys file cannot be used. The last good keys stay in force. */
  readonly onKeysRefused: (error: Error) => void
  /**
   * The keys have not been readable for too long (`true`, once a minute while it lasts), or are readable
   * again (`false`).
   */
  readonly onKeysUnreadable: (unreadable: boolean) => void
  /**
   * A token was denied because this host has no key with that id. Any client can write such a token. But if
   * hosts that share a directory have different keys, the token may be genuine.
   */
  readonly onUnknownKey: (keyId: string) => void
  /**
   * The folder was in use, because it contains keys, but its directory file is missing. An empty directory
   * replaces it.
   */
  readonly onDirectoryLost: (file: string) => void
  /** The directory file was exchanged or removed while it was open. Every call fails until a restart. */
  readonly onDirectoryReplaced: (file: string) => void
  /** Damage was found in the directory file while it was open. Every call fails from then on. */
  readonly onDirectoryDamaged?: (file: string, problem: string) => void
  /** Others on this machine can read a file with a secret, or enter the data folder. */
  readonly onExposed?: (path: string, problem: string) => void
  /**
   * Some active static tokens were hashed with another pepper. This host cannot recognise them and denies
   * them.
   */
  readonly onForeignStaticTokens: (foreign: ForeignStaticTokens) => void
  /**
   * It cannot be written, for this reason, which change of a shared directory is known, or can be again, with
   * none. A restart forgets it then.
   */
  readonly onPositionUnwritten?: (error: unknown) => void
  /** The days of last use of static tokens cannot be written, for this reason, or can be again, with none. */
  readonly onUsesUnwritten?: (error: unknown) => void
}

interface ForeignStaticTokens {
  readonly count: number
  /** The file with this host's pepper. */
  readonly pepperFile: string
}

/** Opens the folder. The first time, creates it with its keys, its pepper and its directory. */
export async function openEmbeddedAuthority(options: OpenOptions): Promise<OpenedAuthority> {
  const { folder, engine, passwordLimits, failedLogins, now, turns = new Turns() } = options
  const directoryFile = join(folder, DIRECTORY_FILE)
  const { inUse, restoring, shared, problem } = openDataFolder(folder)
  if (restoring) (await import('../directory/backup/leftovers.ts')).removeLeftovers(folder)
  const onExposed = options.onExposed ?? (() => {})
  if (problem !== undefined) onExposed(folder, problem)
  expectPrivateIn(folder, SECRET_FILES, shared, onExposed)
  if (inUse && options.shared === undefined && isMissingOrEmpty(directoryFile))
    options.onDirectoryLost(directoryFile)
  await using opening = new AsyncDisposableStack()
  const keys = new KeyRing(join(folder, SIGNING_KEYS_FILE), now(), {
    onRefused: options.onKeysRefused,
    onUnreadable: options.onKeysUnreadable,
    unreadableMs: options.keysUnreadableMs,
    pollMs: options.keyPollMs,
  })
  opening.defer(() => keys.close())
  const signer = new IamTokenSigner(keys, options.onUnknownKey, options.tokenNames)
  const pepperFile = join(folder, PEPPER_FILE)
  // A key object, made once: a conversion on every check would cost five times as much as the hash.
  const pepper = pepperOf(readOrCreate(pepperFile, randomHex), pepperFile)
  const store = await openDirectory(directoryFile, sharedBy(options), now, {
    onReplaced: () => options.onDirectoryReplaced(directoryFile),
    onDamaged: (problem) => options.onDirectoryDamaged?.(directoryFile, problem),
    changesWaiting: options.changesWaiting,
    stalenessMs: options.stalenessMs,
    tracer: options.tracer,
  })
  opening.defer(() => store.close())
  const count = await store.records.staticTokensOfOtherPeppers(fingerprintOf(pepper))
  if (count > 0) options.onForeignStaticTokens({ count, pepperFile })
  const passwords = new Passwords(passwordLimits)
  const staticTokenUses = usesWrittenTo(store, options)
  opening.defer(() => staticTokenUses.close())
  const authority = new EmbeddedAuthority({
    ...{ store, signer, turns, pepper, passwords, failedLogins, staticTokenUses, now },
    rememberedMax: options.rememberedTokens,
  })
  const limits = options.sessionLimits ?? SESSION_LIMITS
  const controlPanel = lazyControlPanel({ store, passwords, pepper, failedLogins, limits, now })
  const open = opening.move()
  return {
    authority,
    administration: {
      ...{ directory: store, records: store.records, controlPanel, engine, now },
      secrets: new SecretMaker({ passwords, pepper, engine }),
      panelTokens: new PanelTokens(signer, now),
    },
    changes: store.verification.changes,
    promoted: promotedIn(store),
    trusted: keyIdsOf(keys),
    state: () => ({
      keys: keys.last,
      signs: keys.last.some(({ privateKey }) => privateKey !== undefined),
      waiting: { passwords: passwords.waiting, changes: store.waiting, signatures: turns.waiting },
      cached: authority.cached,
      changes: store.verification.changes.state,
    }),
    close: () => open.disposeAsync(),
  }
}

function sharedBy({ shared, folder, knownFolder = folder, onPositionUnwritten }: OpenOptions) {
  if (shared === undefined) return undefined
  const known = new KnownPosition({
    folder: join(knownFolder, KNOWN_CHANGE),
    onUnwritten: onPositionUnwritten,
  })
  return { ...shared, known }
}

/** Those of the keys that verify tokens now: the same array until they change. */
function keyIdsOf(ring: KeyRing): () => readonly string[] {
  let keys: readonly SigningKey[] = []
  let ids: readonly string[] = []
  return () => {
    const current = keysOf(ring)
    if (current === keys) return ids
    keys = current
    ids = keys.map(({ keyId }) => keyId)
    return ids
  }
}

/** While they cannot be read no token is genuine here. */
function keysOf(ring: KeyRing): readonly SigningKey[] {
  try {
    return ring.keys
  } catch {
    return NO_KEYS
  }
}

const NO_KEYS: readonly SigningKey[] = []

/** How long sessions last where nothing else is said. */
const SESSION_LIMITS: SessionLimits = { idleMs: 30 * 60_000, lifetimeMs: 12 * 3_600_000 }

/** The control panel, loaded when something first needs it. */
function lazyControlPanel(parts: ConstructorParameters<typeof ControlPanel>[0]): () => Promise<ControlPanel> {
  let opened: Promise<ControlPanel> | undefined
  return () => {
    opened ??= import('./control-panel/control-panel.ts').then(({ ControlPanel }) => new ControlPanel(parts))
    return opened
  }
}

/** The writer of the days on which static tokens were used. */
const USES = trusted('use of static tokens', 'users')

function usesWrittenTo(
  store: DirectoryStore,
  { onUsesUnwritten = () => {}, now }: Pick<OpenOptions, 'onUsesUnwritten' | 'now'>,
): StaticTokenUses {
  const write = (days: ReadonlyMap<string, number>) =>
    changeDirectory(store, USES, (change) => change.raiseLastUsedDays(days))
  return new StaticTokenUses({ write, onUnwritten: onUsesUnwritten, now })
}

function isMissingOrEmpty(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0
}

function randomHex(): string {
  return `${randomBytes(32).toString('hex')}\n`
}
