/**
 * Builds the published files of a package: declarations by the compiler, and code by Rolldown. The code has
 * few files, because a start finds, reads and links every one of them. Code from other packages of this
 * checkout is included, so that each package installs alone. Packages in `devDependencies` are included too.
 * `dependencies` are not, so that npm handles their updates and advisories.
 *
 *     node scripts/build.ts                     every package, into its own `dist/`
 *     node scripts/build.ts FOLDER [OUTPUT]     one package, into its `dist/` or into OUTPUT
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { transform } from 'esbuild'
import { type CodeSplittingNameFunction, rolldown } from 'rolldown'
import { pageOf } from './generate/page.ts'
import { CODE, generate, writeFiles } from './generate.ts'
import { licensesOf } from './licenses.ts'
import { PACKAGES, type Package, packageIn, ROOT } from './packages.ts'

const COMPILER = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

if (import.meta.main) {
  const [folder, output] = process.argv.slice(2)
  for (const each of folder === undefined ? PACKAGES : [packageIn(folder)])
    await buildPackage(each, output === undefined ? join(ROOT, each.folder, 'dist') : resolve(output))
}

/** Builds into a folder, which is emptied first. The paths in it are the same as those of the sources. */
export async function buildPackage(built: Package, output: string): Promise<void> {
  await generate(CODE)
  rmSync(output, { recursive: true, force: true })
  const bundled = await bundle(built, output)
  const page = built.page ? await pageOf() : undefined
  if (page) writeFiles(join(output, 'console'), page.files)
  const inputs = [...bundled, ...(page?.inputs ?? [])]
  const licenses = licensesOf(inputs)
  if (licenses !== '') writeFileSync(join(output, 'third-party-licenses.txt'), licenses)
  copyDeclarations(built.folder, declarationsOf(built), output)
}

/** Writes the code. @returns the files that it is made of, from the root */
async function bundle(built: Package, folder: string): Promise<string[]> {
  const entryPoints = built.entryPoints.map((path) => join(ROOT, path))
  const made = await rolldown({
    input: Object.fromEntries(built.entryPoints.map((path) => [path.replace(/\.ts$/, ''), join(ROOT, path)])),
    external: Object.keys(dependenciesOf(built)).map(
      (name) => new RegExp(`^${name.replaceAll('.', '\\.')}(/|$)`),
    ),
    platform: built.platform,
    // The keys of modules in package.json for bundlers. The platform `neutral` has no default for them.
    resolve: { mainFields: ['module', 'main'] },
    // An entry point keeps its code, because some find other files beside their own.
    preserveEntrySignatures: 'allow-extension',
    onLog: (_level, { code, message }) => {
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message)
    },
  })
  const { output } = await made.generate({
    format: 'es',
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'stages', name: stagesIn(built), test: (id) => !entryPoints.includes(id) }],
    },
  })
  const chunks = output.filter((each) => each.type === 'chunk')
  for (const chunk of chunks) {
    const { code } = await transform(chunk.code, {
      format: 'esm',
      // V8 keeps a text with any other character at two bytes for each of its characters.
      charset: 'ascii',
      target: built.target,
      minifyWhitespace: built.compact,
      ...(built.compact && { lineLimit: 110 }),
    })
    const path = join(folder, chunk.fileName)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, code)
  }
  const ids = chunks.flatMap(({ moduleIds }) => moduleIds)
  return ids.filter((id) => id.startsWith(ROOT)).map((id) => relative(ROOT, id))
}

/**
 * Names the file of a module by the first stage that needs it, and by whether another one does too: workers
 * and threads need only what they share with the command line. `null`: no stage needs it.
 */
function stagesIn({ stages = {} }: Package): CodeSplittingNameFunction {
  let needed: (readonly [stage: string, ids: ReadonlySet<string>])[] | undefined
  return (id, graph) => {
    needed ??= Object.entries(stages).map(([stage, paths]) => {
      const ids = new Set(paths.map((path) => join(ROOT, path)))
      // The loop adds to the set that it iterates over.
      for (const each of ids)
        for (const imported of graph.getModuleInfo(each)?.importedIds ?? []) ids.add(imported)
      return [stage, ids]
    })
    const [first, ...others] = needed.filter(([, ids]) => ids.has(id)).map(([stage]) => stage)
    if (first === undefined) return null
    return others.length === 0 ? first : `${first}-shared`
  }
}

function dependenciesOf(built: Package): Readonly<Record<string, string>> {
  return manifestOf(built).dependencies ?? {}
}

/** The declarations that package.json names. */
function declarationsOf(built: Package): string[] {
  return Object.values(manifestOf(built).exports).flatMap((each) =>
    typeof each === 'string' ? [] : [each.types.replace('./dist/', '')],
  )
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

function manifestOf({ folder }: Package): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
}

/**
 * Copies declarations and those that they import, directly or indirectly. The compiler makes them for all
 * sources.
 */
function copyDeclarations(folder: string, entries: readonly string[], output: string): void {
  const all = mkdtempSync(join(tmpdir(), 'portcullis-declarations-'))
  try {
    const emit = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', all]
    const paths = ['--rootDir', ROOT, '--allowImportingTsExtensions', 'false']
    execFileSync(
      process.execPath,
      [COMPILER, '-p', join(ROOT, folder), ...emit, ...paths, '--rewriteRelativeImportExtensions'],
      { stdio: 'inherit' },
    )
    const found = new Set(entries)
    // The loop adds to the set that it iterates over.
    for (const path of found) {
      const text = readFileSync(join(all, path), 'utf8')
      for (const [, imported = ''] of text.matchAll(/\b(?:from\s+|import\()["'](\.[^"']+)["']/g))
        found.add(declarationOf(join(dirname(path), imported)))
      mkdirSync(dirname(join(output, path)), { recursive: true })
      cpSync(join(all, path), join(output, path))
    }
  } finally {
    rmSync(all, { recursive: true })
  }
}

function declarationOf(path: string): string {
  return path.replace(/\.[jt]s$/, '.d.ts')
}
