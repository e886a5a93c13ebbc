/**
 * The settings that this browser remembers: the colors, and whether single keys are shortcuts. Nothing else
 * is kept.
 */
import { useCallback, useEffect, useState } from 'preact/hooks'

export type Theme = 'system' | 'light' | 'dark'

export const THEMES: readonly Theme[] = ['system', 'light', 'dark']

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [stored, store] = useStored('portcullis-theme')
  const theme = THEMES.find((each) => each === stored) ?? 'system'
  useEffect(() => {
    document.documentElement.dataset.theme = theme
  }, [theme])
  return [theme, store]
}

export function useSingleKeys(): readonly [boolean, (on: boolean) => void] {
  const [stored, store] = useStored('portcullis-single-keys')
  return [stored !== 'off', useCallback((on: boolean) => store(on ? 'on' : 'off'), [store])]
}

function useStored(name: string): readonly [string | null, (value: string) => void] {
  const [value, setValue] = useState(() => {
    try {
      return localStorage.getItem(name)
    } catch {
      // A browser can forbid it; the choice then lasts as long as the page.
      return null
    }
  })
  const store = useCallback(
    (next: string) => {
      setValue(next)
      try {
        localStorage.setItem(name, next)
      } catch {}
    },
    [name],
  )
  return [value, store]
}
