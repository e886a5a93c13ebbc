/** The sources of the checkout, and what they import. */
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Code that a generator wrote; it is neither read nor edited. */
const GENERATED = /(^|\/)gen\//

export interface Source {
  /** From the root, with `/`: `engine/decide.ts`. */
  readonly path: string
  readonly text: string
  readonly generated: boolean
}

/** Every TypeScript and JavaScript file of the project's own folders. */
export const sources: readonly Source[] = globSync(
  [
    '*.{ts,js}',
    '{engine,matrix,proto,sidecar,clients,console,bench,scripts,test,examples,.ci}/**/*.{ts,tsx,js}',
  ],
  { cwd: ROOT, exclude: ['**/node_modules/**', '**/dist/**'] },
)
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
  .map((path) => ({ path, text: readFileSync(ROOT + path, 'utf8'), generated: GENERATED.test(path) }))

/** The files of the contract in Protocol Buffers. */
export const protos: readonly Pick<Source, 'path' | 'text'>[] = globSync('proto/**/*.proto', { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
  .map((path) => ({ path, text: readFileSync(ROOT + path, 'utf8') }))

/** Sources whose path begins so. */
export function sourcesIn(...prefixes: string[]): readonly Source[] {
  return sources.filter(({ path }) => prefixes.some((prefix) => path.startsWith(prefix)))
}

/**
 * The imports of a source, types included: files as paths from the root, packages and built-ins by name.
 * An import whose name is computed is not seen.
 */
export function importsOf({ path, text }: Pick<Source, 'path' | 'text'>): string[] {
  const specifiers = [
    // import … from '…', export … from '…'
    ...text.matchAll(/^\s*(?:import|export)\s[\w$\s{},*]*?\bfrom\s*['"]([^'"\n]+)['"]/gm),
    // import '…'
    ...text.matchAll(/^\s*import\s*['"]([^'"\n]+)['"]/gm),
    // import('…'), import.meta.resolve('…'), require('…')
    ...text.matchAll(/\b(?:import|import\.meta\.resolve|require)\s*\(\s*['"]([^'"\n]+)['"]/g),
  ].map(([, specifier]) => specifier as string)
  return specifiers.map((specifier) =>
    specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier,
  )
}

/** The modules that a source needs while it runs, in the same form: its imports without types alone. */
export function valueImportsOf({ path, text }: Pick<Source, 'path' | 'text'>): string[] {
  const values = text
    .replaceAll(/^\s*(?:import|export) type\s[\w$\s{},*]*?\bfrom\s*['"][^'"\n]+['"]/gm, '')
    .replaceAll(/^\s*(?:import|export) \{(?:\s*type [\w$\s]+,?)+\s*\} from\s*['"][^'"\n]+['"]/gm, '')
  return importsOf({ path, text: values })
}
