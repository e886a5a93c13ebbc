/** A sidecar with a matrix, and another one that is computed beside it. */
import { compile, type Matrix } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { newFile } from '../suite/resources.ts'
import { operatorOf } from './operator.ts'
import { runSidecar } from './sidecar.ts'

/** The shipped rows alone. */
export const ROWS: Matrix = { ...supportMatrix, statements: [], conflicts: [] }
/** Opens tickets for project-scoped tokens, and closes the balance for static ones. */
export const NEXT: Matrix = {
  ...ROWS,
  apis: ROWS.apis.map((api) => {
    if (api.id === 'tickets') return { ...api, accepts: [...api.accepts, 'iam_token_project_scoped'] }
    if (api.id === 'balance') return { ...api, accepts: ['iam_token_account_scoped'] }
    return api
  }),
}
/** Opens no cell: users without any permission obtain tokens of the whole account, which open the balance. */
export const FREE: Matrix = {
  ...ROWS,
  tokenKinds: ROWS.tokenKinds.map((kind) =>
    kind.id === 'iam_token_account_scoped' ? { ...kind, permissionScopes: [] } : kind,
  ),
}
/** Their digests. */
export const [BEFORE, AFTER] = [compile(ROWS).digest, compile(NEXT).digest]
export const REASON = 'agreed with the support team'

/** A file that is replaced as editors do. */
export const fileOf = (matrix: Matrix) => newFile(JSON.stringify(matrix), 'matrix.json')

/** Begins a sidecar, with the rows where nothing else is said. It ends with the test file. */
export async function host(
  options: { folder?: string; matrix?: string; shadow?: string; config?: string; url?: string } = {},
) {
  const { folder, matrix = fileOf(ROWS), shadow, config, url } = options
  const flags = { matrix, ...(shadow && { matrix_shadow: shadow }), matrix_poll_ms: 10, 'directory.url': url }
  const running = await runSidecar({ ...(folder && { folder }), ...(config && { config }), flags })
  const allows = async (api: string, kind: string) =>
    (await running.client.check({ api, token: { kind, scope: { account: '1', ...projectOf(kind) } } }))
      .allowed
  /** Whether each of the two cells is open. */
  const cells = async () => [
    await allows('tickets', 'iam_token_project_scoped'),
    await allows('balance', 'static_token'),
  ]
  return { running, cells, directory: operatorOf(running).directory }
}

const projectOf = (kind: string) => (kind === 'iam_token_project_scoped' ? { project: 'alpha' } : {})
