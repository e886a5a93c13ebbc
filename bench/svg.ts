/** What all pictures have in common: echarts draws them without a browser, and the same input makes the same bytes. */
import { init } from 'echarts'

// Readable on white, which is drawn behind them: GitHub shows pictures on white and on black pages.
export const INK = '#1f2328'
export const FAINT = '#59636e'
export const FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

/** Title and what is said below it, at the top left. */
export function titleOf(text: string, subtext: string) {
  return {
    text,
    subtext,
    left: 16,
    top: 12,
    textStyle: { fontSize: 17, color: INK, fontFamily: FONT },
    subtextStyle: { fontSize: 12, lineHeight: 18, color: FAINT, fontFamily: FONT },
  }
}

/** @param option of echarts, without what all pictures have in common */
export function drawSvg(width: number, height: number, option: object): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: FONT, color: INK },
      ...option,
    })
    return withoutMarks(chart.renderToSVGString())
  } finally {
    chart.dispose()
  }
}

/** Without what echarts adds for a page that is alive: it numbers that through all charts of a process. */
function withoutMarks(svg: string): string {
  return `${svg.replaceAll(/ (?:class|ecmeta_\w+)="[^"]*"/g, '').replaceAll(/<style[\s\S]*?<\/style>\n?/g, '')}\n`
}
