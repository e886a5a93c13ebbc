/**
 * The programs that pages show pass a strict check of their types, against the declarations of the packages.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { newFolder } from '../support/suite/resources.ts'
import { blocksOf, fileOf, needOf, userPages } from './page.ts'
import { PACKAGES } from './terminal.ts'

test('the TypeScript of the pages', () => {
  const folder = newFolder()
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const files = userPages.flatMap((page) =>
    blocksOf(page)
      .filter((block) => block.language === 'ts' && needOf(block) === undefined)
      .map((block) => {
        const file = join(page.path.replace(/\.md$/, ''), fileOf(block) ?? '')
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), block.text)
        return file
      }),
  )
  expect(files.length).toBeGreaterThan(5)
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        paths: Object.fromEntries(
          Object.entries(PACKAGES).map(([name, source]) => [name, [join(ROOT, source)]]),
        ),
        typeRoots: [join(ROOT, 'node_modules/@types')],
        rootDir: '/',
      },
      include: [],
      files,
    }),
  )
  expect(check(folder)).toBe('')
})

/** The errors of the compiler. */
function check(project: string): string {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  try {
    return execFileSync(process.execPath, [compiler, '--project', project], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout)
  }
}
