/**
 * The past of decisions, for operators: searched in the decision log of this host. One search runs at a time,
 * and no check waits for it.
 */
import type { Engine } from '../../../engine/index.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import { CallError, callError, invalidArgument } from '../../base/call-error.ts'
import { COPIED_TOKEN_EXPECTED, copiedTokens } from '../../base/copied-token.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import type { Secret } from '../../base/secret.ts'
import type { DecisionLog } from '../decision-recorder.ts'
import type { DecisionQuery, DecisionSearch, FoundDecision, FoundDecisions } from '../decision-search.ts'
import type { Requester } from '../requester.ts'
import { authorizeReader } from './operator.ts'

/** Most searches that wait for their turn. */
export const WAITING_MAX = 8

/** Most decisions in an answer. */
const ROWS_MAX = 200

/** An operator's question to the log. */
export interface SearchQuestion extends Omit<DecisionQuery, 'users' | 'tokens'> {
  /** Id of a user; or the name of one of the account that is given. */
  readonly user: string | undefined
  /** The value of a token. It becomes fingerprints at once. */
  readonly token: Secret | undefined
  readonly fingerprint: string | undefined
  readonly pageToken: string | undefined
}

/** A decision with the name of its user. */
export interface NamedDecision extends FoundDecision {
  /** `undefined`: the directory does not have the user now. */
  readonly userName: string | undefined
}

export interface Searching {
  readonly engine: Engine
  readonly administration: Administration
}

export class DecisionSearches {
  readonly #decisions: DecisionLog | undefined
  readonly #queue = new FairQueue<'operators'>({
    weights: { operators: 1 },
    concurrent: 1,
    waiting: WAITING_MAX,
    full: () => callError('WATCHES_EXHAUSTED', { whose: 'the decision log' }),
  })

  constructor(decisions: DecisionLog | undefined) {
    this.#decisions = decisions
  }

  /**
   * A part of a search, which may have found nothing yet.
   *
   * @param signal the client has gone away
   * @throws CallError: PERMISSION_DENIED; `NOT_FOUND` where no file has the decisions; `WATCHES_EXHAUSTED`
   */
  async search(
    { engine, administration }: Searching,
    requester: Requester,
    { user, token, fingerprint, pageToken, ...query }: SearchQuestion,
    signal: AbortSignal,
  ): Promise<Omit<FoundDecisions, 'rows'> & { readonly rows: readonly NamedDecision[] }> {
    const caller = authorizeReader(requester)
    const search = this.#search()
    const whole: DecisionQuery = {
      ...query,
      tokens: fingerprintsOf(search, token, fingerprint),
      users: user === undefined ? undefined : await usersOf(administration, user, query.account),
    }
    const turn = { from: pageToken, rowsMax: ROWS_MAX, engine, signal }
    const found = await this.#queue.run({ lane: 'operators', shares: [caller] }, async () => {
      signal.throwIfAborted()
      return search.search(whole, turn)
    })
    return { ...found, rows: await named(administration, found.rows) }
  }

  #search(): DecisionSearch {
    const search = this.#decisions?.search
    if (search === undefined)
      throw callError('NOT_FOUND', {
        what: 'decision log on this host: `decision_log.file.path` in the configuration keeps one',
      })
    return search
  }
}

/** @throws CallError where the text is not one token */
function fingerprintsOf(
  search: DecisionSearch,
  token: Secret | undefined,
  fingerprint: string | undefined,
): readonly string[] | undefined {
  if (token === undefined) return fingerprint === undefined ? undefined : [fingerprint]
  const tokens = copiedTokens(token.reveal())
  if (tokens.length === 0) throw invalidArgument({ field: 'token', expected: COPIED_TOKEN_EXPECTED })
  return tokens.flatMap((each) => search.fingerprintsOf(each))
}

async function usersOf(
  { records }: Administration,
  user: string,
  account: string | undefined,
): Promise<readonly string[]> {
  if (account === undefined) return [user]
  const found = await Promise.all(
    (['service_user', 'control_panel_user'] as const).map((type) =>
      records.user(account, user, type).catch(unlessImpossible),
    ),
  )
  return [user, ...found.flatMap((each) => (each === undefined ? [] : [each.id]))]
}

/** An account or a name that no user can have: PostgreSQL has no texts with NUL. */
function unlessImpossible(error: unknown): undefined {
  if (!(error instanceof CallError) || error.code !== 'INVALID_ARGUMENT') throw error
}

async function named(
  { records }: Administration,
  rows: readonly FoundDecision[],
): Promise<readonly NamedDecision[]> {
  const names = new Map<FoundDecision['user'], string | undefined>()
  // One after the other: the directory has others to answer.
  for (const { user } of rows)
    if (user !== undefined && !names.has(user)) names.set(user, (await records.userById(user))?.name)
  return rows.map((row) => ({ ...row, userName: names.get(row.user) }))
}
