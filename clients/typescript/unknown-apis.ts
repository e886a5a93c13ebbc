/** Tells of an API that a guard names and the matrix does not have: all its requests are denied. */
import { namesMeant } from '../../engine/meant.ts'
import type { Client } from './client.ts'

/** What is told. The matrix may get the API later: requests then pass. */
export class UnknownApiError extends Error {
  override readonly name = 'UnknownApiError'

  constructor(api: string, known: readonly string[]) {
    const [meant] = namesMeant(api, known)
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
    super(`the matrix has no API \`${api}\`, so the requests of its guard are denied${hint}`)
  }
}

/** A connection that can say what the matrix has. */
type Knowing = Partial<Pick<Client, 'getMatrix'>>

/** Most APIs of a connection that are told of. They are those of guards, and not those of requests. */
const TOLD_MAX = 1_000

interface Told {
  /** Asked once, for all guards of a start; `undefined`: nothing answered. */
  readonly atStart: Promise<readonly string[] | undefined>
  readonly apis: Set<string>
}

const TOLD = new WeakMap<object, Told>()

/** Looks once whether the matrix has the API. While no sidecar answers, nothing is told. */
export async function lookForApi(client: Knowing, api: string, tell: (error: Error) => void): Promise<void> {
  const known = await toldOf(client).atStart
  if (known !== undefined && !known.includes(api)) once(client, api, known, tell)
}

/** The sidecar has said that it does not know the API. */
export async function tellOfUnknownApi(
  client: Knowing,
  api: string,
  tell: (error: Error) => void,
): Promise<void> {
  if (!toldOf(client).apis.has(api)) once(client, api, (await apisOf(client)) ?? [], tell)
}

function once(client: Knowing, api: string, known: readonly string[], tell: (error: Error) => void): void {
  const { apis } = toldOf(client)
  if (apis.has(api) || apis.size >= TOLD_MAX) return
  apis.add(api)
  tell(new UnknownApiError(api, known))
}

function toldOf(client: Knowing): Told {
  let told = TOLD.get(client)
  if (told === undefined) {
    told = { atStart: apisOf(client), apis: new Set() }
    TOLD.set(client, told)
  }
  return told
}

async function apisOf(client: Knowing): Promise<readonly string[] | undefined> {
  try {
    return (await client.getMatrix?.())?.apis.map(({ id }) => id)
  } catch {
    return undefined
  }
}
