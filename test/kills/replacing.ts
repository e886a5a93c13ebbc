/** For modules that are loaded into a process: some code of the product is other code there. */
import { registerHooks } from 'node:module'

/**
 * @param file end of its path
 * @param changes code that is there, and what stands in its place
 * @throws Error when the file is loaded, where the code is not there
 */
export function replaceIn(
  file: string,
  ...changes: readonly (readonly [code: string, instead: string])[]
): void {
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith(file)) return loaded
      let source = String(loaded.source)
      for (const [code, instead] of changes) {
        if (!source.includes(code)) throw new Error(`${file}: expected \`${code}\``)
        source = source.replace(code, instead)
      }
      return { ...loaded, source }
    },
  })
}
