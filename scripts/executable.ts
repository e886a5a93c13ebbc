/**
 * Builds the command line as one file, for hosts without Node: a copy of the Node that runs this, with all
 * code and files in it (a single executable application). Beside it are the licenses of what it contains, and
 * its bill of materials.
 *
 *     node scripts/executable.ts [FOLDER]      default: dist/
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { pageOf } from './generate/page.ts'
import { CODE, generate, writeFiles } from './generate.ts'
import { licensesOf, statedLicense } from './licenses.ts'
import { installOnDemand } from './on-demand.ts'
import { ROOT } from './packages.ts'
import { writeBillOfMaterials } from './production.ts'

/** Marks the place in Node that says whether something was added. Node's documentation names it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

if (import.meta.main) await buildExecutable(resolve(process.argv[2] ?? join(ROOT, 'dist')))

/** @param output the folder, which is emptied first. @returns the path of the executable */
export async function buildExecutable(output: string): Promise<string> {
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const work = join(output, 'work')
  mkdirSync(work)
  await generate(CODE)
  const page = await pageOf()
  writeFiles(join(work, 'console'), page.files)
  const inputs = [...(await bundle('sidecar/cli/one-executable.ts', join(work, 'main.cjs'))), ...page.inputs]
  // Threads are started from these texts.
  await bundle('sidecar/rules/matrix-file/thread.ts', join(work, 'thread.cjs'))
  await bundle('sidecar/directory/file-thread.ts', join(work, 'file-thread.cjs'))
  await bundle('sidecar/process/workers/statement-thread.ts', join(work, 'statement-thread.cjs'))
  writeFileSync(join(work, 'sea.json'), JSON.stringify(settings(work)))
  execFileSync(process.execPath, ['--experimental-sea-config', join(work, 'sea.json')], { stdio: 'pipe' })
  const executable = join(output, 'portcullis')
  cpSync(process.execPath, executable, { dereference: true })
  await insert(executable, readFileSync(join(work, 'blob')))
  chmodSync(executable, 0o755)
  // Packages of Buf have no license file with them.
  const others = licensesOf(inputs, (name) => statedLicense(name, inputs))
  writeFileSync(join(output, 'third-party-licenses.txt'), [nodeLicense(work), others].join('\n'))
  cpSync(join(ROOT, 'LICENSE'), join(output, 'LICENSE'))
  writeBillOfMaterials(join(output, 'sbom.cdx.json'))
  rmSync(work, { recursive: true })
  return executable
}

/**
 * All code as one CommonJS file, because Node 24 takes no other.
 *
 * @returns the files that it is made of
 */
async function bundle(entryPoint: string, outfile: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    charset: 'ascii',
    target: 'es2024',
    minifyWhitespace: true,
    // Some packages have code for bundlers, and their other code requires files.
    mainFields: ['module', 'main'],
    // It cannot import a file, and it can require modules of Node.
    supported: { 'dynamic-import': false },
    // Not installed, and loaded only on request.
    external: ['pg-native'],
    // The places that use it do so only where there are files.
    logOverride: { 'empty-import-meta': 'silent' },
    plugins: [replacements()],
    metafile: true,
  })
  return Object.keys(metafile.inputs)
}

function settings(work: string): object {
  const protos = globSync('proto/*.{binpb,json}', { cwd: ROOT }).filter((path) => !path.includes('released'))
  const assets = protos.map((path) => [path, join(ROOT, path)])
  return {
    main: join(work, 'main.cjs'),
    output: join(work, 'blob'),
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // By default SIGUSR1 opens the inspector, through which every program of this machine could read all
    // secrets.
    execArgv: ['--disable-sigusr1'],
    assets: {
      'package.json': join(ROOT, 'sidecar/package.json'),
      'thread.cjs': join(work, 'thread.cjs'),
      'file-thread.cjs': join(work, 'file-thread.cjs'),
      'statement-thread.cjs': join(work, 'statement-thread.cjs'),
      ...Object.fromEntries(assets),
      ...pageIn(work),
    },
  }
}

/** The page, by the names that `packageFile` asks for. */
function pageIn(work: string): Readonly<Record<string, string>> {
  const files = globSync('console/**/*.{html,js,css}', { cwd: work })
  return Object.fromEntries(files.map((path) => [path, join(work, path)]))
}

/** Places that look for files beside their own. The build fails where one has changed. */
function replacements(): Plugin {
  return {
    name: 'replacements',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\/sidecar\/(config\/text-file|rules\/matrix-file\/read)\.ts$/ }, ({ path }) => ({
        contents: replaced(path, "createRequire(import.meta.url)('yaml')", "require('yaml')"),
        loader: 'ts',
      }))
      onLoad({ filter: /\/@grpc\/reflection\/.*\/reflection-v1(alpha)?\.js$/ }, ({ path }) => {
        const proto = `protoLoader.fromJSON(${reflectionProto(path)},`
        return { contents: replaced(path, 'protoLoader.loadSync(protoPath,', proto), loader: 'js' }
      })
    },
  }
}

function replaced(path: string, from: string, to: string): string {
  const text = readFileSync(path, 'utf8')
  if (!text.includes(from)) throw new Error(`${path}: expected \`${from}\`, which the executable replaces`)
  return text.replace(from, () => to)
}

/** The proto that this file of the library reads, as JSON. */
function reflectionProto(path: string): string {
  const library = path.slice(0, path.indexOf('/build/'))
  const version = basename(path, '.js').replace('reflection-', '')
  const { loadSync } = createRequire(path)('protobufjs') as typeof import('protobufjs')
  return JSON.stringify(loadSync(join(library, 'build/proto/grpc/reflection', version, 'reflection.proto')))
}

/** Puts the code into the copy of Node. */
async function insert(executable: string, blob: Buffer): Promise<void> {
  const postject = join(installOnDemand('postject'), 'postject/dist/api.js')
  const { inject } = (await import(pathToFileURL(postject).href)).default
  await inject(executable, 'NODE_SEA_BLOB', blob, { sentinelFuse: FUSE })
}

/**
 * The license of Node and of what it contains. The package `node` has the program alone; that of the platform
 * has all.
 */
function nodeLicense(work: string): string {
  const { version, platform, arch } = process
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}@${version.slice(1)}`
  execFileSync('npm', ['pack', '--silent', '--pack-destination', work, name], { stdio: 'pipe' })
  const [tarball = ''] = globSync('node-*.tgz', { cwd: work })
  const license = execFileSync('tar', ['-xzOf', join(work, tarball), 'package/LICENSE'], { encoding: 'utf8' })
  return `node ${version.slice(1)}\nMIT, and those of what it contains\n\n${license.trim()}\n`
}
