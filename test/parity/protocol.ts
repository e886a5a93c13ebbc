/**
 * A protocol as the table of questions sees it: how it is asked, which questions it can ask, and which files
 * and methods belong to it.
 */
import type { Decision } from '../../engine/index.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import type { Question } from './questions.ts'

/** The facts of an answer. A protocol that says more says it here, too, and is held to it. */
export type Answer = Pick<Decision, 'allowed' | 'reason' | 'rulesDigest'> &
  Partial<Pick<Decision, 'message' | 'header' | 'accepted' | 'advice' | 'digest' | 'strict'>> & {
    /** Ids. */
    readonly conflicts?: readonly string[]
    /** The status and headers that the client of a denied request gets besides the body. */
    readonly denial?: Refused
  }

/** The status of a denial, and its headers as far as they are not the server's own. */
export interface Refused {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/** Headers that speak of a denial. */
const DENIAL_HEADERS = new Set([
  ...['content-type', 'cache-control', 'www-authenticate'],
  ...['x-portcullis-reason', 'x-portcullis-rules-digest'],
])

/** @param headers with names in lower case */
export function refusedWith(
  status: number,
  headers: Iterable<readonly [name: string, value: string | undefined]>,
): Refused {
  const speaking = [...headers].filter(([name, value]) => value !== undefined && DENIAL_HEADERS.has(name))
  return { status, headers: Object.fromEntries(speaking) as Record<string, string> }
}

export interface Protocol {
  readonly name: string
  /**
   * Files of the product in which it asks what decides. `complete.test.ts` finds those that no protocol
   * names.
   */
  readonly files: readonly string[]
  /**
   * The methods and routes that it asks, of those that the servers announce: `gRPC /package.Service/Method`,
   * `HTTP /path`.
   */
  readonly announced: readonly string[]
  /** Why it has no words for a question; `undefined`: it has. */
  readonly silent: (question: Question) => string | undefined
  /** Opens a connection, and asks all the questions in their order. */
  readonly ask: (sidecar: RunningSidecar, questions: readonly Question[]) => Promise<readonly Answer[]>
}

/** An answer with the names of the contract, as messages have them and JSON of the command line. */
export function answerOfContract(answer: object): Answer {
  const { reason, rules_digest, conflicts, ...rest } = answer as Readonly<Record<string, unknown>>
  const { allowed, message, header, accepted, advice, digest, strict } = rest as unknown as Decision
  return {
    ...{ allowed, message, header, advice, digest, strict },
    // In messages an empty text stands for an absent one.
    accepted: accepted.map(({ scheme, link, obtained, ...kind }) => ({
      ...kind,
      // A sidecar of the release does not say it, and knows no kinds that are obtained elsewhere.
      obtained: obtained || (kind.issuable ? 'issue' : 'control_panel'),
      ...(scheme && { scheme }),
      ...(link && { link }),
    })),
    reason: String(reason).replace(/^REASON_/, '') as Decision['reason'],
    rulesDigest: rules_digest as string,
    conflicts: (conflicts as { id: string }[]).map(({ id }) => id),
  }
}

/** Protocols about requests have no words for claims. */
export const onlyRequests = ({ subject }: Question): string | undefined =>
  'claims' in subject ? 'it is asked about requests' : undefined

export const everything = (): undefined => undefined

/** The outcome of each question, asked one after the other. */
export async function oneByOne<T>(
  questions: readonly Question[],
  ask: (question: Question) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = []
  for (const question of questions) answers.push(await ask(question))
  return answers
}

/** The headers of a question about a request. */
export function headersOf({ subject }: Question): readonly (readonly [name: string, value: string])[] {
  if ('claims' in subject) throw new Error('expected a question about a request')
  return subject.headers
}
