/**
 * Builds what is published: declarations by the compiler, and code in a few files by esbuild, because a start reads
 * and links every module on its way. Into `dist/`, or the folder that is given. Dependencies stay outside, so that
 * their updates and advisories are npm's business.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')

/** What package.json, the launcher or Node itself names; everything else becomes part of these, or a shared chunk. */
const ENTRY_POINTS = [
  'engine/index.ts',
  'matrix/index.ts',
  'sidecar/index.ts',
  'sidecar/client/index.ts',
  'sidecar/cli/main.ts',
  // The primary starts the worker by the name of the file beside it.
  'sidecar/workers/primary.ts',
  'sidecar/workers/worker.ts',
]

const output = resolve(process.argv[2] ?? join(ROOT, 'dist'))
rmSync(output, { recursive: true, force: true })
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const project = join(ROOT, 'tsconfig.build.json')
execFileSync(process.execPath, [compiler, '-p', project, '--outDir', output], { stdio: 'inherit' })
await build({
  absWorkingDir: ROOT,
  entryPoints: ENTRY_POINTS,
  outbase: ROOT,
  outdir: output,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'es2024',
})
