/** Saving a file from the page. */

/** Browsers read the file after the click, some of them when the person has chosen a folder. */
const KEPT_MS = 60_000

/** Gives the browser a file to save. */
export function saveFile(name: string, parts: readonly string[], type: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
}
