/** Readers with faults that only a fuzzer finds: the fuzzer is tested with them. */
import type { Target } from './target.ts'

export const planted: readonly Target[] = [
  {
    name: 'planted',
    seeds: ['x'],
    run: (bytes) => {
      const text = bytes.toString('latin1')
      // One comparison of four characters that no dictionary has: only how near it came leads there.
      if (text.slice(0, 4) === String.fromCharCode(97, 98, 99, 100))
        throw new Error('planted: four bytes at once')
      if (text[0] === 'w' && text[1] === 'x' && text[2] === 'y' && text[3] === 'z')
        throw new Error('planted: four bytes in turn')
      if (bytes.length >= 8 && bytes.readUInt32BE(4) === 0xc0de_cafe) throw new Error('planted: a number')
      // Its rounds are the square of its length, which the bound of steps forbids.
      if (text.startsWith('sq')) for (let at = 0; at < bytes.length ** 2; at++) text.charCodeAt(at)
      if (text.startsWith('ever')) for (;;) text.charCodeAt(0)
    },
  },
  {
    name: 'planted-hang',
    seeds: ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'],
    // No counter is in a regular expression.
    run: (bytes) => {
      ;/^(a+)+$/.test(bytes.toString('latin1'))
    },
  },
]
