/**
 * Every command of README is run, and its shown output is the printed one. The other pages: test/interop. The
 * allowed blocks of pages.
 */
import { describe, expect, test } from 'vitest'
import { blocksOf, fileOf, pageOf, userPages } from './page.ts'
import { isNotRun, isOutput, readPage } from './story.ts'

describe('README.md', () => {
  readPage(pageOf('README.md'))
})

test.each(userPages)(
  '$path has blocks that are files, commands, outputs or pictures, and no others',
  (page) => {
    const others = blocksOf(page).filter(
      (block) => !(block.language === 'sh' || block.language === 'text' || fileOf(block) !== undefined),
    )
    expect(others).toEqual([])
  },
)

/** Blocks that are not run, by their first line, with the reason. As few as possible. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm run simulate': 'a search takes minutes; test/simulation runs 20 short seeds',
  'npm run mutants': 'it takes hours; test/architecture/mutants.test.ts reads its lists',
  'npm run kills':
    'it takes minutes; test/nightly/kills kills a few, test/nightly/kills/searches.test.ts cuts the power',
  'npm run day': 'it takes an hour; test/nightly/day.test.ts runs less of it',
  'npm run bench': 'benchmarks take minutes; test/bench runs each suite at smoke size',
  'npm run instructions':
    'it takes minutes; test/bench/instructions.test.ts runs the operations, test/nightly/instructions.test.ts counts',
  'npm pack --workspace engine --workspace matrix --workspace clients/typescript --pack-destination ../my-service':
    'test/nightly/architecture/package.test.ts packs and installs each package',
  'npm ci && npm pack --workspace sidecar':
    'it changes the programs of the machine; test/nightly/architecture/package.test.ts packs and installs each package',
  'npm version 0.2.0 --no-git-tag-version --workspaces --include-workspace-root':
    'it changes the checkout; test/architecture/packages.test.ts holds all versions to be the same',
  'npm pack --workspaces --pack-destination ../release':
    'test/nightly/packages.test.ts packs twice and compares every byte',
  'git archive --prefix=crate/ HEAD:clients/rust | tar x -C ../release':
    'test/interop/clients/rust.test.ts packs so, and compiles the package',
  'npm publish --workspaces --provenance --access public': 'no test publishes',
  'export PORTCULLIS_GRPC_ADDRESS=sidecar.example:50051 PORTCULLIS_TLS_CA=ca.pem PORTCULLIS_TLS_CERT=me.pem PORTCULLIS_TLS_KEY=me.key':
    'it needs another machine; test/interop/cli-tls.test.ts has certificates',
}

test('every block that is not run has a reason, and every reason a block', () => {
  const marked = userPages.flatMap((page) => blocksOf(page).filter(isNotRun))
  expect(marked.map(({ text }) => text.split('\n')[0]).sort()).toEqual(Object.keys(NOT_RUN).sort())
})

test('a block of output stands behind a command', () => {
  for (const page of userPages) {
    const blocks = blocksOf(page)
    for (const [index, block] of blocks.entries())
      if (isOutput(block)) expect(blocks[index - 1]?.language, `${page.path}:${block.line}`).toBe('sh')
  }
})
