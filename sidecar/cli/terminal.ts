/** Colours on a terminal. */
import { styleText } from 'node:util'

/** A style of `util.styleText`. */
export type Style = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>

/**
 * The text in a colour where the stream is a terminal that shows colours, and unchanged elsewhere. `NO_COLOR` and
 * `FORCE_COLOR` are heeded as Node heeds them.
 */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream })
}

/** `--no-color`: no colour from now on, in this process and in those that it starts. */
export function forbidColor(): void {
  delete process.env.FORCE_COLOR
  process.env.NO_COLOR = '1'
}
