/** For modules that are loaded into a process: some code of the product is other code there. */
import { registerHooks } from 'node:module'

/** @param file end of its path */
export function replaceIn(file: string, code: string, instead: string): void {
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith(file)) return loaded
      return { ...loaded, source: replaced(String(loaded.source), code, instead) }
    },
  })
}

/** @throws Error where the code is not there, or more than once */
export function replaced(source: string, code: string, instead: string): string {
  if (source.split(code).length !== 2) throw new Error(`expected once: \`${code}\``)
  return source.replace(code, () => instead)
}
