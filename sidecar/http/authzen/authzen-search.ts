/**
 * The searches: which subjects, resources or actions would an evaluation permit? There are finitely many, so
 * each one is tried.
 */

import { Slices } from '../../base/slices.ts'
import { credentialForSearch } from '../../usecases/credential-search.ts'
import { isObject } from '../json.ts'
import { rulesContext } from './answers.ts'
import { type Entities, type Fields, readEntities, type Searched } from './entities.ts'
import { type Asked, decideToken, evaluate } from './evaluations.ts'
import { PageRequest } from './search-pages.ts'

/** The candidates of a search. */
interface Candidates {
  readonly ids: Iterable<string>
  /** Whether an evaluation would permit it. */
  readonly permits: (id: string) => boolean
  /** The text on which the decisions depend beside the request, without a secret; part of a page token. */
  readonly about?: string | undefined
  /** Why there are no results. */
  readonly context?: object | undefined
}

const NONE: Candidates = { ids: [], permits: () => false }

const UNTOLD = { listener: undefined }

/** How many candidates are tried between two looks at the clock. */
const CANDIDATES_A_LOOK = 1_000

/**
 * A search enforces nothing, so its decisions are not reported.
 *
 * @throws CallError where the request is not valid, or nothing can be decided
 */
export async function answerSearch(asked: Asked, body: Fields, searched: Searched): Promise<object> {
  const entities = readEntities(body, { searched })
  const request = new PageRequest(body.page)
  const { ids, permits, about, context } = await candidatesOf(
    { ...asked, asker: { ...asked.asker, ...UNTOLD } },
    entities,
    searched,
  )
  const { engine } = asked.services
  const query = [searched, engine.rulesDigest, requestOf(body, entities), about]
  const { from, limit } = request.begin(query)

  const found: string[] = []
  let next: number | undefined
  let index = 0
  const slices = new Slices()
  for (const id of ids) {
    if (index % CANDIDATES_A_LOOK === 0) await slices.pause()
    if (index >= from && permits(id)) {
      if (found.length === limit) {
        next = index
        break
      }
      found.push(id)
    }
    index++
  }
  return {
    page: { next_token: request.tokenFor(query, next), count: found.length },
    context: { ...context, ...rulesContext(engine) },
    results: found.map((id) => RESULTS[searched](id)),
  }
}

const RESULTS: Readonly<Record<Searched, (id: string) => object>> = {
  subject: (id) => ({ type: 'token', id }),
  resource: (id) => ({ type: 'api', id }),
  action: (name) => ({ name }),
}

async function candidatesOf(asked: Asked, entities: Entities, searched: Searched): Promise<Candidates> {
  const { services } = asked
  const { subject, action, resource, clientAddress } = entities
  if (subject.type === 'unknown' || action === 'unknown' || resource.type === 'unknown') return NONE
  switch (searched) {
    case 'action': {
      const { decision, context } = await evaluate(asked, entities)
      return { ids: ['call'], permits: () => decision, context: decision ? undefined : context }
    }
    case 'subject':
      return {
        ids: services.engine.tokenKinds.keys(),
        permits: (kind) =>
          subject.type === 'token' && decideToken(services, { ...subject, kind }, resource, UNTOLD).allowed,
      }
    case 'resource': {
      const ids = services.engine.apis.keys()
      if (subject.type === 'token')
        return { ids, permits: (api) => decideToken(services, subject, { ...resource, api }, UNTOLD).allowed }
      const { headers } = subject
      const { target } = resource
      const question = { headers, target, clientAddress }
      const credential = await credentialForSearch(services, question, asked.asker.connection)
      const { token, denial } = credential
      return {
        ids,
        permits: credential.opens,
        about: token && JSON.stringify([token.authority, token.tokenId]),
        context: denial && { reason: denial.reason, message: denial.message },
      }
    }
  }
}

/**
 * The whole request as it was sent, except for what may differ from page to page, and for the headers of a
 * credential: they are secret, and the token that they have stands for them.
 */
function requestOf({ page, ...body }: Fields, { subject }: Entities): string {
  const { token: _token, limit: _limit, ...morePage } = isObject(page) ? page : {}
  if (subject.type !== 'credential') return sorted({ ...body, page: morePage })
  const { properties, ...moreSubject } = body.subject as Fields
  const { headers: _headers, ...moreProperties } = properties as Fields
  return sorted({
    ...body,
    page: morePage,
    subject: { ...moreSubject, properties: moreProperties },
  })
}

/** JSON in which the order of members says nothing. */
function sorted(value: object): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  )
}
