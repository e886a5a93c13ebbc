/**
 * The current view, as a link: the part of the address after `#`. No server is sent it, so a search
 * stays with its author. A pasted header is never a part of it.
 */
import type { Engine } from '../../engine/index.ts'
import type { Mode } from './rules.ts'
import type { Filters } from './table.ts'

export const PAGES = ['matrix', 'try', 'plan', 'compare', 'edit'] as const

type Page = (typeof PAGES)[number]

/** A cell, or with no kind a whole row. */
export interface Opened {
  readonly api: string
  readonly kind: string | undefined
}

export interface View extends Filters {
  readonly page: Page
  /** `undefined`: the mode of the source of the matrix. */
  readonly mode: Mode | undefined
  /** The cell whose panel is open. */
  readonly opened: Opened | undefined
  /** The API that headers are tried with. */
  readonly api: string | undefined
  /** The APIs of a job that is planned. */
  readonly apis: readonly string[]
  /**
   * The matrix that the author of the link looked at, by the beginning of its digest; `undefined`: the link
   * does not say.
   */
  readonly matrix: string | undefined
  /** The edits of a user, as they are packed in a link. */
  readonly edits: string | undefined
}

export const FIRST_VIEW: View = {
  ...{ page: 'matrix', mode: undefined, opened: undefined, api: undefined, apis: [] },
  ...{ matrix: undefined, edits: undefined },
  ...{ search: '', kinds: [], header: undefined, contested: false },
}

/** Longest search that is kept in a link. */
const SEARCH_LENGTH_MAX = 200

/** How much of a digest is in a link. */
const DIGEST_LENGTH = 12
const DIGEST = new RegExp(`^[0-9a-f]{${DIGEST_LENGTH}}$`)

/** Longest text of edits in a link, in characters. Chats and trackers cut longer links. */
export const EDITS_LENGTH_MAX = 8_000
const EDITS = new RegExp(`^[\\w-]{1,${EDITS_LENGTH_MAX}}$`)

/** Ids have none of these, so a link can be read: `cell=cdn~static_token`. */
const BETWEEN_API_AND_KIND = '~'
const BETWEEN_IDS = ','

/** Reads a link. Total: an unknown part counts as absent. */
export function viewOf(hash: string): View {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  const page = PAGES.find((each) => each === path)
  if (page === undefined) return FIRST_VIEW
  const given = new URLSearchParams(query)
  const mode = given.get('mode')
  const matrix = given.get('matrix')
  const edits = given.get('edits')
  return {
    page,
    search: (given.get('q') ?? '').slice(0, SEARCH_LENGTH_MAX),
    kinds: idsOf(given.get('kinds')),
    header: given.get('header') || undefined,
    contested: given.has('contested'),
    mode: mode === 'strict' || mode === 'resolved' ? mode : undefined,
    opened: openedOf(given.get('cell')),
    api: given.get('api') || undefined,
    apis: idsOf(given.get('apis')),
    matrix: matrix !== null && DIGEST.test(matrix) ? matrix : undefined,
    edits: page === 'edit' && edits !== null && EDITS.test(edits) ? edits : undefined,
  }
}

/**
 * The view as others are to see it: with the mode and the matrix that it was seen in, which they may not
 * have.
 */
export function sharedView(view: View, { digest, strict }: Pick<Engine, 'digest' | 'strict'>): View {
  return { ...view, mode: strict ? 'strict' : 'resolved', matrix: shortDigest(digest) }
}

/** The part of a digest that a link has. */
export function shortDigest(digest: string): string {
  return digest.slice('sha256:'.length).slice(0, DIGEST_LENGTH)
}

/** The link of a view: the parts that differ from the first view, in one order. */
export function hashOf(view: View): string {
  const { page, search, kinds, header, contested, mode, opened, api, apis, matrix, edits } = view
  const parts: (readonly [name: string, value: string | undefined])[] = [
    ['q', search.slice(0, SEARCH_LENGTH_MAX) || undefined],
    ['kinds', kinds.join(BETWEEN_IDS) || undefined],
    ['header', header],
    ['contested', contested ? '' : undefined],
    ['mode', mode],
    ['cell', opened && [opened.api, opened.kind].filter(Boolean).join(BETWEEN_API_AND_KIND)],
    ['api', api],
    ['apis', apis.join(BETWEEN_IDS) || undefined],
    ['matrix', matrix],
    ['edits', page === 'edit' ? edits : undefined],
  ]
  const query = parts
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (value === '' ? name : `${name}=${encoded(value as string)}`))
    .join('&')
  return `#/${page}${query === '' ? '' : `?${query}`}`
}

/** As `encodeURIComponent`, with the commas between ids as they are. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replaceAll('%2C', ',')
}

function idsOf(list: string | null): readonly string[] {
  return [...new Set((list ?? '').split(BETWEEN_IDS).filter(Boolean))]
}

function openedOf(cell: string | null): Opened | undefined {
  if (!cell) return undefined
  const [api = '', kind] = cell.split(BETWEEN_API_AND_KIND)
  return { api, kind: kind || undefined }
}
