/**
 * Names, wherever they come from: a request, a file, the configuration, another identity endpoint. Names are
 * compared byte for byte, so two that look alike must not both be names.
 */
import { isVisible, VISIBLE_EXPECTED } from './visible-text.ts'

/** Length of the longest name, in characters. */
export const NAME_LENGTH_MAX = 255

/** Blanks of other widths, which look like the ordinary one. */
const OTHER_BLANK = /(?! )\p{Zs}/u

/** The expected form of a name, for errors. */
export const NAME_EXPECTED = `${VISIBLE_EXPECTED}, composed (NFC), without blanks around it and other blanks than the space in it`

/** Whether something new can have this name. */
export function isName(text: string): boolean {
  return (
    text.length >= 1 &&
    text.length <= NAME_LENGTH_MAX &&
    text.isWellFormed() &&
    isVisible(text) &&
    !OTHER_BLANK.test(text) &&
    !text.startsWith(' ') &&
    !text.endsWith(' ') &&
    text.normalize('NFC') === text
  )
}
