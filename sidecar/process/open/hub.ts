/** The authority of a sidecar that has no directory and follows one that has. */
import type { Logger } from 'pino'
import type { Administration } from '../../authority/administration/administration.ts'
import type { Forward } from '../../authority/elsewhere.ts'
import { DescribedTokens } from '../../authority/hub/described-tokens.ts'
import { HubAuthority } from '../../authority/hub/hub-authority.ts'
import { HubChanges } from '../../authority/hub/hub-changes.ts'
import { issueAt } from '../../authority/hub/hub-issue.ts'
import { HubLine } from '../../authority/hub/hub-line.ts'
import { DESCRIBE_TOKENS, describeTokensRequest, readDescribed } from '../../authority/hub/hub-messages.ts'
import { HubPromotion } from '../../authority/hub/hub-promotion.ts'
import type { OpenedAuthority } from '../../authority/open-authority.ts'
import { rememberedByMemory } from '../../authority/token-memory.ts'
import { callError } from '../../base/call-error.ts'
import type { Health } from '../../base/health.ts'
import type { HubConfig } from '../../config/hub.ts'
import type { Rules } from '../../rules/rules.ts'

interface HubParts {
  readonly rememberedTokens: number | undefined
  readonly rules: Pick<Rules, 'engine'>
  readonly log: Logger
  readonly health: Health
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
}

/** @throws ConfigError if the files of the configuration cannot be read */
export async function openHub(
  hub: HubConfig,
  { rememberedTokens, rules, log, health, now }: HubParts,
): Promise<OpenedAuthority & { readonly forward: Forward }> {
  const { addresses, stalenessMs, timeoutMs } = hub
  const changes = new HubChanges({ stalenessMs })
  const promoted = new HubPromotion()
  const line = new HubLine({
    ...{ addresses, timeoutMs, changes, token: hub.token, tls: hub.tls },
    onFollowing: (address, rulesDigest) => {
      health.set('directory_unreachable', false)
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
      health.set('directory_unreachable', changes.knownForMs() === undefined)
      log.warn({ hub: address, err: error }, 'a hub is lost; the next one of the configuration is followed')
    },
  })
  const tokens = new DescribedTokens(async (values) =>
    readDescribed(await line.ask(DESCRIBE_TOKENS, describeTokensRequest(values))),
  )
  const authority = new HubAuthority({
    ...{ changes, tokens, now },
    rememberedMax: rememberedTokens ?? rememberedByMemory(),
    issue: (requester, scope) => issueAt(line, requester, scope),
  })
  await line.start()
  return {
    ...{ authority, changes, administration: ELSEWHERE },
    forward: (path, request, presented) => line.forward(path, request, presented),
    promoted: promoted.of(line),
    trusted: () => changes.trusted,
    state: () => ({
      keys: [],
      signs: true,
      waiting: { hub: { tokens: tokens.waiting } },
      cached: authority.cached,
      changes: changes.state,
    }),
    close: () => line.close(),
  }
}

/** Every operation is refused. Those of the contract are handed on before they come here. */
const ELSEWHERE: Administration = refusing() as Administration

function refusing(): unknown {
  return new Proxy(() => {}, {
    get: (_target, name) => (name === 'then' ? undefined : refusing()),
    apply: () => Promise.reject(callError('DIRECTORY_ELSEWHERE', {})),
  })
}
