/** Asks each sidecar that this one is to follow, as it would, and compares what they say. */
import type { Engine } from '../../../engine/index.ts'
import { RefusedElsewhere } from '../../authority/elsewhere.ts'
import { HubBehind, HubChanges, isOfLostChanges } from '../../authority/hub/hub-changes.ts'
import { HubLine } from '../../authority/hub/hub-line.ts'
import type { HubConfig } from '../../config/hub-config.ts'
import { KnownPosition } from '../../directory/feed/known-position.ts'
import type { Position } from '../../directory/feed/touches.ts'
import { type Finding, findingsOf } from './finding.ts'

const { ok, warning, error } = findingsOf('hubs')

/**
 * @param engine of the configured matrix, where it can be read
 * @param told the position that this host received before
 */
export async function hubFindings(
  { addresses, token, tls, stalenessMs, timeoutMs }: HubConfig,
  engine: Engine | undefined,
  told: Position | undefined,
): Promise<Finding[]> {
  const findings: Finding[] = []
  // It begins with the position of this host, and writes none.
  const known = new KnownPosition()
  if (told !== undefined) known.note(told)
  const changes = new HubChanges({ stalenessMs, known })
  let first: string | undefined
  for (const address of addresses) {
    const before = changes.state.touched.everything ?? 0
    const answer = Promise.withResolvers<Finding>()
    const line = new HubLine({
      ...{ addresses: [address], changes, token, tls, timeoutMs },
      onLost: (_address, lost) => answer.resolve(findingOf(address, lost)),
      onFollowing: (_address, rulesDigest) => {
        const isElsewhere = first !== undefined && (changes.state.touched.everything ?? 0) > before
        if (isElsewhere) answer.resolve(warning(address, `it does not go on from where ${first} is`, SAME))
        else if (engine !== undefined && rulesDigest !== engine.rulesDigest)
          answer.resolve(warning(address, 'it has other rules than the configured matrix', RULES))
        else answer.resolve(ok(address, `it can be followed, from change ${changes.state.position}`))
        first ??= address
      },
    })
    await line.start()
    findings.push(await answer.promise)
    await line.close()
  }
  return findings
}

function findingOf(address: string, lost: Error): Finding {
  if (isOfLostChanges(lost)) return error(address, lost.message, LOST)
  if (lost instanceof RefusedElsewhere && lost.row.retry)
    return error(address, `it is there, and refuses to be followed: ${lost.message}`, THERE)
  return lost instanceof HubBehind
    ? warning(address, lost.message, SAME)
    : error(address, lost.message, REACH)
}

const LOST = 'end the tokens of the lost time there: docs/operate/postgresql.md#runbook-changes-are-lost'
const THERE = 'portcullis doctor on the host of that hub'
const REACH =
  'check that it is running, that the address and the certificates are right, and that this caller has the right `follow` there'
const SAME = 'all hubs must share one directory and have the same signing keys; or it is behind for now'
const RULES =
  'unless they were promoted there, this sidecar decides by its own matrix: use the same file and the same `strict`'
