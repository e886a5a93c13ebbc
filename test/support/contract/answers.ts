/** Answers as another language reads them: what the engine decides, written out as the contract has it. */
import type { Decision } from '../../../engine/index.ts'
import type { BlackBox, CallWishes, Message } from './black-box.ts'

/** The message that a decision must be on the wire, but for `verified`, `token` and `cache_for`. */
export function decisionMessage(decision: Decision): Message {
  const { allowed, reason, message, header, scheme, accepted, conflicts, advice } = decision
  const { digest, strict, rulesDigest } = decision
  return {
    allowed,
    reason: `REASON_${reason}`,
    message,
    header,
    scheme,
    accepted: accepted.map((kind) => ({ scheme: '', ...kind })),
    conflicts,
    advice,
    digest,
    strict,
    rules_digest: rulesDigest,
  }
}

/** An answer to claims: not verified, without a token, and to be reused for a while. */
export function claimsAnswer(decision: Decision): Message {
  return {
    ...decisionMessage(decision),
    verified: false,
    token: null,
    cache_for: { seconds: 5, nanos: 0 },
    position: null,
    route: null,
  }
}

/** A question about one credential in one header. */
export function credentialQuestion(api: string, header: string, value: string, target?: Message): Message {
  return { api, credentials: { headers: [{ name: header, value }] }, ...(target && { target }) }
}

/** Asks all at once. */
export async function askBatch(
  box: BlackBox,
  checks: readonly Message[],
  wishes?: CallWishes,
): Promise<Message[]> {
  const { results } = await box.ask('checkBatch', { checks }, wishes)
  return results as Message[]
}

/** Asks one after the other on one stream; every answer must bear the id of its question. */
export async function askStream(
  box: BlackBox,
  checks: readonly Message[],
  wishes?: CallWishes,
): Promise<Message[]> {
  const stream = box.converse('checkStream', wishes)
  for (const [index, check] of checks.entries()) stream.write({ id: `question ${index}`, check })
  stream.end()
  const answers: Message[] = []
  for await (const { id, result } of stream as AsyncIterable<Message>) {
    if (id !== `question ${answers.length}`) throw new Error(`answer ${answers.length} has the id ${id}`)
    answers.push(result as Message)
  }
  return answers
}
