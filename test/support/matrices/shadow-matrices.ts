/** Matrices that are computed beside the shipped one. */
import type { Matrix, TokenKind } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { ACCOUNT_KIND, STATIC_KIND } from './engines.ts'

/** Without prose there is no conflict to declare, and strict mode denies no cell more. */
const table: Matrix = { ...supportMatrix, statements: [], conflicts: [] }

/** It opens a cell, closes another one, and has an API under another name. */
export const OTHER_CELLS: Matrix = {
  ...table,
  apis: table.apis.map((api) => {
    if (api.id === 'reports') return { ...api, accepts: [...api.accepts, ACCOUNT_KIND] }
    if (api.id === 'tickets') return { ...api, id: 'support-tickets' }
    if (api.id !== 'balance') return api
    return { ...api, accepts: api.accepts.filter((kind) => kind !== ACCOUNT_KIND) }
  }),
}

/** It has a kind more, in a header that others have too, which opens one API. */
export const ANOTHER_KIND: Matrix = {
  ...table,
  tokenKinds: [
    ...table.tokenKinds,
    { ...(table.tokenKinds[0] as TokenKind), id: 'badge', title: 'badge', prefix: 'bdg_' },
  ],
  apis: table.apis.map((api) =>
    api.id === 'reports' ? { ...api, accepts: [...api.accepts, 'badge'] } : api,
  ),
}

/** Its static tokens travel in another header. */
export const MOVED_HEADER: Matrix = {
  ...table,
  tokenKinds: table.tokenKinds.map((kind) =>
    kind.id === STATIC_KIND ? { ...kind, header: 'X-Static-Token' } : kind,
  ),
}
