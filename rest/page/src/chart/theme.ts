// How charts look on this page.
import type { Config } from 'vega-lite';

const narrow = 560;

/** isNarrow says whether there is no room for a legend beside a chart. */
export const isNarrow = (width: number): boolean => width < narrow;

const series = {
  light: ['#4263eb', '#e8590c', '#2b8a3e', '#ae3ec9', '#0c8599', '#c92a2a', '#e67700', '#5f3dc4', '#5c940d', '#a61e4d'],
  dark: ['#748ffc', '#ffa94d', '#69db7c', '#da77f2', '#3bc9db', '#ff8787', '#ffd43b', '#b197fc', '#a9e34b', '#f783ac'],
};

/** themeOf gives Vega-Lite's settings from the styles of the page. */
export function themeOf(width: number, dark: boolean): Config {
  const styles = getComputedStyle(document.documentElement);
  const color = (name: string) => styles.getPropertyValue(`--${name}`).trim();
  const [ink, soft, line, bar] = [color('ink'), color('soft'), color('line'), color('bar')];
  const small = isNarrow(width);
  return {
    background: color('card'),
    font: getComputedStyle(document.body).fontFamily,
    // The last label of an axis may reach beyond it.
    padding: { left: 4, top: 4, right: 12, bottom: 4 },
    view: { stroke: 'transparent' },
    mark: { color: bar },
    bar: { cornerRadiusEnd: 3 },
    line: { strokeWidth: 2.5, strokeJoin: 'round', strokeCap: 'round' },
    range: { category: series[dark ? 'dark' : 'light'] },
    axis: {
      labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600, titlePadding: 10, titleLimit: 240, labelLimit: small ? 110 : 220,
    },
    axisX: { titleLimit: width },
    axisXQuantitative: { tickCount: small ? 4 : 8 },
    axisXTemporal: { grid: false },
    axisBand: { grid: false, ticks: false, labelPadding: 6 },
    legend: {
      labelColor: soft, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleLimit: small ? 240 : 180, labelLimit: small ? 120 : 180, symbolStrokeWidth: 2,
      ...(small && { orient: 'bottom', columns: 2 }),
    },
    title: { color: ink, subtitleColor: soft, fontSize: 14, fontWeight: 600, subtitleFontSize: 12, offset: 12, limit: width },
  };
}
