/** The pictures show the pages as they are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noteIn } from '../../scripts/palette-png.ts'
import { digestOf, IMAGES, PICTURES } from '../../scripts/pictures.ts'

test.each(PICTURES)('the picture `$name` is not older than what it shows', async (picture) => {
  const taken = noteIn(readFileSync(join(IMAGES, `${picture.name}.png`)))
  expect(taken, 'run `node scripts/pictures.ts`, and look at the pictures').toBe(await digestOf(picture))
})
