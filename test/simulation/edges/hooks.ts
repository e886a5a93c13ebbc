/**
 * Puts the edges of the simulation in the place of those of the product, for every import from now on. The
 * defect that `DEFECT` names is put in its place, too.
 */
import { registerHooks } from 'node:module'
import { moduleOf } from '../../world/defects.ts'

/** Importers of these modules get the others, unless they are among the others. */
const EDGES: readonly [imported: RegExp, edge: string][] = [
  [/\/node_modules\/@grpc\/grpc-js\//, 'grpc-js.ts'],
  [/\/node_modules\/pg\//, 'pg.ts'],
  [/\/sidecar\/directory\/postgres-message\.ts$/, 'postgres-message.ts'],
  [/^node:sqlite$/, 'sqlite.ts'],
  [/\/node_modules\/lru-cache\//, 'lru-cache.ts'],
  [/\/sidecar\/transports\/sockets\/sockets-transport\.ts$/, 'transport.ts'],
  [/\/sidecar\/http\/http-server\.ts$/, 'http-server.ts'],
  [/\/sidecar\/authority\/password-cost\.ts$/, '../../support/suite/cheap-password-cost.ts'],
]

const HERE = new URL('.', import.meta.url).href
const WORLD = new URL('../world/', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const importer = context.parentURL ?? ''
    if (importer.startsWith(HERE) || importer.startsWith(WORLD) || importer.includes('/node_modules/'))
      return found
    const [, edge] = EDGES.find(([imported]) => imported.test(found.url)) ?? []
    return edge === undefined
      ? found
      : { ...found, url: new URL(edge, HERE).href, format: 'module-typescript' }
  },
})

const { DEFECT } = process.env
if (DEFECT !== undefined) await import(moduleOf(DEFECT))
