/**
 * `npm run site`: the documentation as a site, in `dist/site`. It has every page of the checkout, a search,
 * the explorer as a playground, and the API of the TypeScript packages. It does not ask another host.
 *
 * The site is made for the root of a host; `SITE_BASE=/docs/ npm run site` for a path.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installOnDemand } from './on-demand.ts'
import { PACKAGES, ROOT } from './packages.ts'
import { entryOf, type Section, writePages } from './site/pages.ts'

const SITE = join(import.meta.dirname, 'site')
const PAGES = join(SITE, '.pages')
const OUT = join(ROOT, 'dist/site')

const installed = installOnDemand('site')
rmSync(PAGES, { recursive: true, force: true })
const sections = writePages(PAGES)
cpSync(join(SITE, 'index.md'), join(PAGES, 'index.md'))
const api = PACKAGES.map(({ folder }) => {
  const { name, exports } = manifestIn(join(ROOT, folder))
  const modules = Object.keys(exports).filter((path) => !path.endsWith('.json'))
  const place = folder.replace('clients/', '')
  node('typedoc', [
    ...modules.map((path) => join(ROOT, folder, path === '.' ? 'index.ts' : `${path}.ts`)),
    ...['--name', name, '--out', join(PAGES, 'api', place), '--options', join(SITE, 'typedoc.json')],
  ])
  return { text: name, link: `/api/${place}/` }
})
playground()
const clients = ['typescript', 'go', 'python', 'java', 'rust', 'conformance']
const project = ['ARCHITECTURE', 'CHANGELOG', 'CONTRIBUTING', 'SECURITY']
const more: Section[] = [
  { text: 'Clients', items: clients.map((name) => entryOf(`clients/${name}/README.md`)) },
  { text: 'API reference', items: api },
  { text: 'The project', items: project.map((name) => entryOf(`${name}.md`)) },
]
writeFileSync(join(PAGES, 'navigation.json'), JSON.stringify({ sections, more }))
rmSync(OUT, { recursive: true, force: true })
node('vitepress', ['build', SITE, '--outDir', OUT])
process.stdout.write(`site: written to ${OUT}\n`)

interface Manifest {
  readonly name: string
  readonly exports: object
  readonly bin: string | Readonly<Record<string, string>>
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Runs a program of the packages of scripts/site. */
function node(name: string, args: readonly string[]): void {
  const { bin } = manifestIn(join(installed, name))
  const program = join(installed, name, typeof bin === 'string' ? bin : (bin[name] ?? ''))
  execFileSync(process.execPath, [program, ...args], { cwd: SITE, stdio: 'inherit' })
}

/** The explorer of the shipped matrix, in one file. */
function playground(): void {
  const folder = join(PAGES, 'public')
  mkdirSync(folder, { recursive: true })
  const launcher = join(ROOT, 'sidecar/portcullis.js')
  execFileSync(process.execPath, [launcher, 'matrix', '--html', join(folder, 'explorer.html')], {
    stdio: 'inherit',
  })
}
