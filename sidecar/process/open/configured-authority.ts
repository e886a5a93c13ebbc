/** The authority of this sidecar with its directory, as the configuration has it. */
import type { Logger } from 'pino'
import type { ControlPanel } from '../../authority/control-panel/control-panel.ts'
import type { Forward } from '../../authority/elsewhere.ts'
import { type OpenedAuthority, openEmbeddedAuthority } from '../../authority/open-authority.ts'
import { FailedLogins, type LoginThrottle } from '../../authority/throttle.ts'
import { ADMINISTRATOR_TOKEN_FILE, openDataFolder, SIGNING_KEYS_FILE } from '../../base/data-folder.ts'
import type { Health } from '../../base/health.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { Turns } from '../../base/turns.ts'
import {
  type Config,
  knownFolderOf,
  passwordLimitsOf,
  sharedDirectoryOf,
  throttleLimitsOf,
} from '../../config/config.ts'
import { sessionLimitsOf } from '../../config/control-panel-config.ts'
import { hubOf } from '../../config/hub-config.ts'
import { KNOWN_CHANGE } from '../../directory/feed/known-position.ts'
import type { Siblings } from '../../directory/open-directory.ts'
import type { Rules } from '../../rules/rules.ts'
import { authorityEvents, clockEvents, directoryEvents, followOutages } from './authority-events.ts'

export interface AuthorityOptions {
  /** Failed logins of all workers; default: those of this process. */
  readonly failedLogins?: LoginThrottle
  readonly siblings?: Siblings
  readonly times?: { readonly keyPollMs?: number }
}

/** The parts that are open already. */
interface Opened {
  readonly rules: Rules
  readonly turns: Turns
  readonly tracer: Tracer | undefined
  readonly log: Logger
  readonly health: Health
  readonly now: () => number
}

/** @throws ConfigError, or an Error that names the file */
export async function openAuthority(
  config: Config,
  { failedLogins, siblings, times }: AuthorityOptions,
  { rules, turns, tracer, log, health, now }: Opened,
): Promise<
  OpenedAuthority & {
    readonly controlPanel: ControlPanel | undefined
    /** Where the directory is elsewhere: forwards the calls that need it. */
    readonly forward: Forward | undefined
  }
> {
  const hub = hubOf(config)
  if (hub !== undefined) {
    // The token of the administrator, and the position of this host, are its whole content.
    openDataFolder(config.data, [ADMINISTRATOR_TOKEN_FILE, SIGNING_KEYS_FILE, KNOWN_CHANGE])
    const knownFolder = knownFolderOf(config)
    const { remembered_tokens: rememberedTokens } = config
    const parts = { knownFolder, rememberedTokens, siblings, rules, log, health, now }
    return { ...(await (await import('./open-hub.ts')).openHub(hub, parts)), controlPanel: undefined }
  }
  const shared = sharedDirectoryOf(config)
  const sessionLimits = sessionLimitsOf(config)
  const opened = await openEmbeddedAuthority({
    folder: config.data,
    shared: shared && { ...shared, siblings, ...directoryEvents(config, log) },
    knownFolder: knownFolderOf(config),
    tokenNames: config.tokens && (await import('../../config/token-names.ts')).tokenNamesOf(config.tokens),
    engine: () => rules.engine,
    passwordLimits: passwordLimitsOf(config),
    changesWaiting: config.changes.waiting,
    stalenessMs: config.directory.staleness_ms,
    rememberedTokens: config.remembered_tokens,
    keysUnreadableMs: config.keys_unreadable_ms,
    sessionLimits,
    failedLogins: failedLogins ?? new FailedLogins(throttleLimitsOf(config), now),
    ...{ turns, tracer, now, keyPollMs: times?.keyPollMs },
    ...authorityEvents(log, health),
  })
  const stopLooking = shared === undefined ? () => {} : followOutages(opened.changes, log, health)
  const close = () => {
    stopLooking()
    return opened.close()
  }
  if (sessionLimits === undefined) return { ...opened, controlPanel: undefined, forward: undefined, close }
  const controlPanel = await opened.administration.controlPanel()
  const wrongClock = controlPanel.watchClock(clockEvents(log))
  return { ...opened, controlPanel, forward: undefined, close: () => wrongClock.close().then(close) }
}
