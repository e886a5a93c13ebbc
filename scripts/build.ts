/**
 * Builds the published files of a package: declarations by the compiler, and code by esbuild. The code has few files, because
 * a start reads and links every module. Code from other packages of this checkout is included, so that each package installs
 * alone. Packages in `devDependencies` are included too. `dependencies` are not, so that npm handles their updates and
 * advisories.
 *
 *     node scripts/build.ts                     every package, into its own `dist/`
 *     node scripts/build.ts FOLDER [OUTPUT]     one package, into its `dist/` or into OUTPUT
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'
import { buildConsole } from './console.ts'
import { licensesOf, statedLicense } from './licenses.ts'
import { PACKAGES, type Package, packageIn, ROOT } from './packages.ts'

const COMPILER = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

if (import.meta.main) {
  const [folder, output] = process.argv.slice(2)
  for (const each of folder === undefined ? PACKAGES : [packageIn(folder)])
    await buildPackage(each, output === undefined ? join(ROOT, each.folder, 'dist') : resolve(output))
}

/** Builds into a folder, which is emptied first. The paths in it are the same as those of the sources. */
export async function buildPackage(built: Package, output: string): Promise<void> {
  rmSync(output, { recursive: true, force: true })
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...built.entryPoints],
    outbase: ROOT,
    outdir: output,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    external: Object.keys(dependenciesOf(built)),
    platform: built.platform,
    format: 'esm',
    // V8 keeps a text with any other character at two bytes for each of its characters.
    charset: 'ascii',
    target: built.target,
    minifyWhitespace: built.compact,
    ...(built.compact && { lineLimit: 110 }),
    // The keys of modules in package.json for bundlers. The platform `neutral` has no default for them.
    mainFields: ['module', 'main'],
    metafile: true,
  })
  const page = built.page ? await buildConsole(join(output, 'console')) : undefined
  const inputs = [...Object.keys(metafile.inputs), ...(page?.inputs ?? [])]
  // Packages of Buf have no license file with them.
  const licenses = licensesOf(inputs, (name) => statedLicense(name, inputs))
  if (licenses !== '') writeFileSync(join(output, 'third-party-licenses.txt'), licenses)
  copyDeclarations(built.folder, declarationsOf(built), output)
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

/** Copies declarations and those that they import, directly or indirectly. The compiler makes them for all sources. */
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
