/** The authority of a sidecar that has no directory and follows one that has. */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Administration } from '../../authority/administration/administration.ts'
import { type Forward, RefusedElsewhere } from '../../authority/elsewhere.ts'
import { DescribedTokens } from '../../authority/hub/described-tokens.ts'
import { HubAuthority } from '../../authority/hub/hub-authority.ts'
import { HubBehind, HubChanges, isOfLostChanges } from '../../authority/hub/hub-changes.ts'
import { issueAt } from '../../authority/hub/hub-issue.ts'
import { HubLine } from '../../authority/hub/hub-line.ts'
import {
  DESCRIBE_TOKENS,
  describeTokensRequest,
  readDescribed,
  touchesOf,
} from '../../authority/hub/hub-messages.ts'
import { HubPromotion } from '../../authority/hub/hub-promotion.ts'
import type { OpenedAuthority } from '../../authority/open-authority.ts'
import { rememberedByMemory } from '../../authority/token-memory.ts'
import { callError } from '../../base/call-error.ts'
import type { Health } from '../../base/health.ts'
import type { HubConfig } from '../../config/hub-config.ts'
import { KNOWN_CHANGE, KnownPosition } from '../../directory/feed/known-position.ts'
import type { Position } from '../../directory/feed/touches.ts'
import type { Siblings } from '../../directory/open-directory.ts'
import type { Rules } from '../../rules/rules.ts'
import { authorityEvents, followOutages } from './authority-events.ts'

interface HubParts {
  /** The keeper of the position of this host. */
  readonly knownFolder: string
  readonly rememberedTokens: number | undefined
  readonly siblings: Siblings | undefined
  readonly rules: Pick<Rules, 'engine'>
  readonly log: Logger
  readonly health: Health
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** @throws ConfigError if the files of the configuration cannot be read */
export async function openHub(
  hub: HubConfig,
  { knownFolder, rememberedTokens, siblings, rules, log, health, now }: HubParts,
): Promise<OpenedAuthority & { readonly forward: Forward }> {
  const { addresses, stalenessMs, timeoutMs } = hub
  const { onPositionUnwritten: onUnwritten } = authorityEvents(log, health)
  const known = new KnownPosition({ folder: join(knownFolder, KNOWN_CHANGE), onUnwritten })
  const changes = new HubChanges({
    ...{ stalenessMs, known, ask: (position) => line.has(position), spread: Math.random },
  })
  const promoted = new HubPromotion()
  /** Why each hub is not followed, as the log has it. */
  const said = new Map<string, string>()
  const line = new HubLine({
    ...{ addresses, timeoutMs, changes, token: hub.token, tls: hub.tls },
    onFollowing: (address, rulesDigest) => {
      said.delete(address)
      const own = rules.engine.rulesDigest
      if (rulesDigest === undefined || rulesDigest === own) log.info({ hub: address }, 'following a hub')
      else
        log.warn(
          { hub: address, rules_digest: own, rules_digest_of_hub: rulesDigest },
          'following a hub that has other rules; unless they were promoted there, this sidecar decides by its own matrix',
        )
    },
    onRules: () => promoted.changed(),
    onLost: (address, error) => {
      // It is tried again and again.
      if (said.get(address) !== error.message) logLost(log, address, error, changes.told)
      said.set(address, error.message)
    },
  })
  const tokens = new DescribedTokens((values) =>
    line.ask(DESCRIBE_TOKENS, describeTokensRequest(values, changes.told), readDescribed),
  )
  const authority = new HubAuthority({
    ...{ changes, tokens, now },
    rememberedMax: rememberedTokens ?? rememberedByMemory(),
    issue: (requester, scope, presented) => issueAt(line, requester, scope, presented),
  })
  siblings?.watch((records) => changes.touch(records))
  await line.start()
  const stopLooking = followOutages(changes, log, health)
  return {
    ...{ authority, changes, administration: ELSEWHERE },
    forward: async (path, request, presented) => {
      const answer = await line.forward(path, request, presented)
      const touches = touchesOf(path, request, answer)
      if (touches !== undefined) {
        const records = [{ sequence: 0, atMs: now(), account: '', touches }]
        changes.touch(records)
        await siblings?.changed(records)
      }
      return answer
    },
    promoted: promoted.of(line),
    trusted: () => changes.trusted,
    state: () => ({
      keys: [],
      signs: true,
      waiting: { hub: { tokens: tokens.waiting } },
      cached: authority.cached,
      changes: changes.state,
    }),
    close: () => {
      stopLooking()
      return line.close().then(() => known.close())
    },
  }
}

/** Every operation is refused. Those of the contract are forwarded before they come here. */
const ELSEWHERE: Administration = refusing() as Administration

function refusing(): unknown {
  return new Proxy(() => {}, {
    get: (_target, name) => (name === 'then' ? undefined : refusing()),
    apply: () => Promise.reject(callError('DIRECTORY_ELSEWHERE', {})),
  })
}

/** @param told the highest position that this sidecar received */
function logLost(log: Logger, hub: string, error: Error, told: Position): void {
  if (isOfLostChanges(error))
    log.fatal(
      { hub, change: told.sequence },
      'a hub has lost changes that this sidecar received, possibly revocations, and is not followed; do not restart: a restore must have ended the tokens of that time',
    )
  else if (error instanceof HubBehind)
    log.warn({ hub, err: error }, 'a hub is behind this sidecar, and is not followed')
  else if (error instanceof RefusedElsewhere)
    log.warn(
      { hub, reason: error.reason, problem: error.message },
      'a hub is there and refuses to be followed; the next one of the configuration is tried',
    )
  else log.warn({ hub, err: error }, 'a hub is lost; the next one of the configuration is tried')
}
