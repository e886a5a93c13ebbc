/**
 * The imports of the clients' files in other languages. Go has no row: a package is its smallest unit, and
 * its compiler refuses a cycle of packages.
 */
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { ROOT, type Source } from './sources.ts'

type Text = Pick<Source, 'path' | 'text'>

interface Language {
  readonly language: string
  /** Its files, from the root. */
  readonly files: string
  /** The names that a file of it imports or uses: those of other files, and any others. */
  readonly namesIn: (text: string) => Iterable<string>
}

const JAVA_TEXTS =
  /\/\*[\s\S]*?\*\/|\/\/.*|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\bpermits [\w\s,]+/g

export const LANGUAGES: readonly Language[] = [
  {
    language: 'Rust',
    files: 'clients/rust/src/*.rs',
    *namesIn(text) {
      const code = text.replaceAll(/\/\/.*/g, '')
      // `v1` is generated. Any other name without a file comes from the root of the crate.
      for (const [, name = '', names = ''] of code.matchAll(/\bcrate::(?:(\w+)|\{([^;]*)\})/g))
        for (const [each] of `${name} ${names}`.matchAll(/(?<!:)\b\w+/g))
          if (each !== 'v1') yield /^[A-Z]/.test(each) ? 'lib' : each
      for (const [, name = ''] of code.matchAll(/^pub use (\w+)::/gm)) yield name
    },
  },
  {
    language: 'Python',
    files: 'clients/python/src/portcullis_client/*.py',
    *namesIn(text) {
      const from = /^\s*from (?:\.|portcullis_client\b\.?)(\w*) import (\([^)]*\)|.*)/gm
      for (const [, module = '', names = ''] of text.matchAll(from))
        if (module !== '') yield module
        else yield* names.match(/\w+/g) ?? []
      for (const [, module = '__init__'] of text.matchAll(/^\s*import portcullis_client(?:\.(\w+))?/gm))
        yield module
    },
  },
  {
    // A class needs no import to use another one of its package. A sealed class must name its subclasses.
    language: 'Java',
    files: 'clients/java/src/main/java/com/portcullis/client/*.java',
    namesIn: (text) => text.replaceAll(JAVA_TEXTS, ' ').match(/(?<!\.)\b[A-Z]\w*/g) ?? [],
  },
]

export function sourcesOf({ files }: Language): readonly Text[] {
  return globSync(files, { cwd: ROOT }).map((file) => {
    const path = file.replaceAll('\\', '/')
    return { path, text: readFileSync(ROOT + path, 'utf8') }
  })
}

/** The files of a language that import other ones: by their names, without folders and endings. */
export function importsBetween({ namesIn }: Language, files: readonly Text[]): Map<string, string[]> {
  const nameOf = (path: string) => posix.parse(path).name
  const known = new Set(files.map(({ path }) => nameOf(path)))
  return new Map(
    files.map(({ path, text }) => {
      const names = new Set(namesIn(text))
      return [nameOf(path), [...names].filter((name) => known.has(name) && name !== nameOf(path))]
    }),
  )
}
