/**
 * The APIs of a matrix that have got another id. It is a guess about what an author meant, so the rule is
 * narrow: where two APIs could be meant, none is.
 */
import { type Api, namesMeant } from '../engine/index.ts'

/** Why two ids are taken for one API. */
export type RenameGround =
  /** One API that is gone and one that is new have this title, and no other. */
  | 'title'
  /**
   * Same section and same kinds; and the ids differ by at most two characters, or one is the other with words
   * added.
   */
  | 'row'

export interface RenamedApi {
  readonly from: Api
  readonly to: Api
  readonly because: RenameGround
}

/** Above this number on a side, only titles are compared: the rest is looked at in pairs. */
const PAIRED_MAX = 100

/**
 * Pairs the APIs that are gone with those that are new.
 *
 * @returns in the order of the new ones
 */
export function renamedApis(gone: readonly Api[], come: readonly Api[]): readonly RenamedApi[] {
  const found = [...paired(gone, come, 'title', byTitle(gone, come))]
  const left = (apis: readonly Api[], side: 'from' | 'to') => {
    const taken = new Set(found.map((each) => each[side]))
    return apis.filter((api) => !taken.has(api))
  }
  const [before, after] = [left(gone, 'from'), left(come, 'to')]
  if (before.length <= PAIRED_MAX && after.length <= PAIRED_MAX)
    found.push(...paired(before, after, 'row', (api) => before.filter((other) => isAlike(other, api))))
  const renamed = new Map(found.map((each) => [each.to, each]))
  return come.flatMap((api) => renamed.get(api) ?? [])
}

/** Those of the new APIs that have one candidate, which is the candidate of no other. */
function paired(
  gone: readonly Api[],
  come: readonly Api[],
  because: RenameGround,
  candidatesOf: (api: Api) => readonly Api[],
): RenamedApi[] {
  const claims = new Map<Api, Api[]>(gone.map((api) => [api, []]))
  const only = new Map<Api, Api>()
  for (const to of come) {
    const candidates = candidatesOf(to)
    for (const from of candidates) (claims.get(from) as Api[]).push(to)
    if (candidates.length === 1) only.set(to, candidates[0] as Api)
  }
  return Array.from(only, ([to, from]) => ({ from, to, because })).filter(
    ({ from }) => (claims.get(from) as Api[]).length === 1,
  )
}

function byTitle(gone: readonly Api[], come: readonly Api[]): (api: Api) => readonly Api[] {
  const wanted = new Map<string, Api[]>(come.map(({ title }) => [title, []]))
  for (const api of gone) {
    const same = wanted.get(api.title)
    // Two are as many as a thousand: none of them is meant for certain.
    // Survives: `same.length < 2` → `true`, `same.length < 2` → `same.length <= 2`. Two of one title are as
    // many as a thousand: none of them is meant.
    if (same !== undefined && same.length < 2) same.push(api)
  }
  return ({ title }) => wanted.get(title) as Api[]
}

function isAlike(one: Api, other: Api): boolean {
  return (
    one.section === other.section && sameIds(one.accepts, other.accepts) && hasSimilarId(one.id, other.id)
  )
}

function hasSimilarId(one: string, other: string): boolean {
  const [short, long] = [one, other].sort((a, b) => a.length - b.length) as [string, string]
  const isPart = [`${short}-`, `${short}_`].some((start) => long.startsWith(start))
  const isEnd = [`-${short}`, `_${short}`].some((end) => long.endsWith(end))
  return isPart || isEnd || namesMeant(one, [other]).length > 0
}

function sameIds(one: readonly string[], other: readonly string[]): boolean {
  return [...one].sort().join() === [...other].sort().join()
}
