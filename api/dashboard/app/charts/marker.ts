// What happened at a moment, as it is marked on the time axis.
export const MARKER_KINDS = ['status', 'command', 'ota', 'shadow', 'alert'] as const
export type MarkerKind = (typeof MARKER_KINDS)[number]

export interface Marker {
  readonly at: number
  readonly kind: MarkerKind
  readonly text: string
}

export const MARKER_GLYPHS: Readonly<Record<MarkerKind, string>> = {
  status: '●',
  command: '▸',
  ota: '⟳',
  shadow: '◔',
  alert: '▲',
}
export const MARKER_COLOURS: Readonly<Record<MarkerKind, string>> = {
  status: '--offline',
  command: '--accent',
  ota: '--provisioning',
  shadow: '--muted',
  alert: '--error',
}

export interface Threshold {
  readonly value: number
  readonly text: string
  readonly severity: 'warning' | 'critical'
}
