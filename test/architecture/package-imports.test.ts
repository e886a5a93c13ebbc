/**
 * The imports of packages: of each other by the front door alone, and from outside exactly the declared ones.
 */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { PACKAGES } from '../../scripts/packages.ts'
import { importsOf, ROOT, sources } from '../support/checkout/sources.ts'

/** Folder of a package → what the other packages may import of it. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  // The client says the same about a denial as the sidecar does, and finds credentials and situations in the
  // same way. It uses nothing else of the engine's code: decisions come from the sidecar.
  engine: [
    ...['engine/index.ts', 'engine/denial.ts', 'engine/credentials.ts', 'engine/situations.ts'],
    ...['engine/reasons.ts', 'engine/messages.ts', 'engine/meant.ts', 'engine/elapsed.ts'],
    // A program that compares or queries whole matrices needs no engine.
    ...['engine/cells.ts', 'engine/digest.ts', 'engine/places.ts'],
  ],
  // The documents of the sidecar are read as strictly as a matrix is. A program that explains, plans or
  // compares need not load the shipped matrix, and only one for policy tests needs their code.
  matrix: [
    ...['matrix/index.ts', 'matrix/document/index.ts', 'matrix/document/yaml.ts', 'matrix/query/'],
    ...['matrix/document/edit.ts', 'matrix/document/edit-yaml.ts', 'matrix/edit-file.ts', 'matrix/edits.ts'],
    ...['matrix/support-matrix.schema.json', 'matrix/lint-file.ts', 'matrix/new-matrix.ts'],
    'matrix/write-file.ts',
    'matrix/yaml-editor.ts',
    'matrix/import/index.ts',
    ...['matrix/explain.ts', 'matrix/plan.ts', 'matrix/compare.ts', 'matrix/load.ts', 'matrix/yaml.ts'],
    ...['matrix/flip-sides.ts', 'matrix/kind-flips.ts'],
    'matrix/policy-tests/index.ts',
  ],
  // A program that prints the error of a call, or makes its calls in its own way, need not load grpc-js.
  'clients/typescript': [
    ...['clients/typescript/index.ts', 'clients/typescript/error.ts'],
    ...['clients/typescript/questions.ts', 'clients/typescript/directory-client.ts'],
    ...['clients/typescript/default-address.ts', 'clients/typescript/plaintext.ts'],
  ],
  sidecar: [],
}

/** The package that a file of the checkout is in. */
function packageOf(path: string): string | undefined {
  return PACKAGES.find(({ folder }) => path.startsWith(`${folder}/`))?.folder
}

test.each(Object.entries(DOORS))('the package in %s is imported through its front door', (folder, doors) => {
  // The benchmarks measure parts of the sidecar, and stand for its users otherwise. Tests look everywhere,
  // and so does what makes the tables of the docs.
  const callers = sources.filter(
    ({ path }) =>
      packageOf(path) !== folder &&
      !path.startsWith('test/') &&
      path !== 'scripts/update-docs.ts' &&
      !(['clients/typescript', 'sidecar'].includes(folder) && path.startsWith('bench/')),
  )
  const entering = callers.flatMap((source) =>
    importsOf(source)
      .filter((imported) => packageOf(imported) === folder)
      .map((imported) => ({ path: source.path, imported })),
  )
  expect(entering.length > 0).toBe(doors.length > 0)
  expect(entering.filter(({ imported }) => !doors.some((door) => imported.startsWith(door)))).toEqual([])
})

test.each(PACKAGES)(
  'the package in $folder imports exactly the packages that it declares',
  ({ folder, entryPoints, platform }) => {
    const manifest = JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, 'utf8'))
    // Code that is built into the package is a dependency of its development alone.
    const declared = { ...manifest.dependencies, ...manifest.devDependencies }
    const outside = outsideOf(entryPoints)
    const builtins = outside.filter((imported) => isBuiltin(imported))
    if (platform === 'neutral') expect(builtins).toEqual([])
    expect(builtins.filter((imported) => !imported.startsWith('node:'))).toEqual([])
    const packages = new Set(outside.filter((imported) => !isBuiltin(imported)).map(nameOf))
    expect([...packages].toSorted()).toEqual(Object.keys(declared).toSorted())
  },
)

test('the client imports no rule of the engine', async () => {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: PACKAGES.filter(({ folder }) => folder === 'clients/typescript').flatMap(
      (client) => client.entryPoints,
    ),
    outdir: 'out',
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
  })
  const folders = Object.keys(metafile.inputs).map((path) => path.split('/').slice(0, 2).join('/'))
  expect(new Set(folders)).toEqual(
    new Set([
      ...['clients/typescript', 'proto/gen', 'engine/denial.ts', 'engine/credentials.ts'],
      ...['engine/situations.ts', 'engine/reasons.ts', 'engine/meant.ts'],
      ...['engine/elapsed.ts', 'engine/places.ts'],
    ]),
  )
})

/** The imports from outside of the checkout of all files that these reach, types included. */
function outsideOf(entryPoints: readonly string[]): string[] {
  const texts = new Map(sources.map(({ path, text }) => [path, text]))
  const reached = new Set(entryPoints)
  const outside = new Set<string>()
  // The set grows on the way.
  for (const path of reached)
    for (const imported of importsOf({ path, text: texts.get(path) ?? '' }))
      if (texts.has(imported)) reached.add(imported)
      else if (packageOf(imported) === undefined) outside.add(imported)
  return [...outside]
}

function nameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
