import { Button } from '../../parts/button.tsx'
import { t } from './overview-words.ts'

const ZOOM_STEP = 1.5

interface MapZoomProps {
  readonly zoom: (factor: number) => void
  readonly whole: () => void
}

export function MapZoom({ zoom, whole, isEnlarged }: MapZoomProps & { readonly isEnlarged: boolean }) {
  return (
    <div class="map-zoom">
      {isEnlarged && <Button onClick={whole}>{t('wholeMap')}</Button>}
      <Button icon="zoom-out" label={t('zoomOut')} onClick={() => zoom(1 / ZOOM_STEP)} />
      <Button icon="zoom-in" label={t('zoomIn')} onClick={() => zoom(ZOOM_STEP)} />
    </div>
  )
}

/** What the keys `+`, `-` and `0` do to a map. Returns whether the key was one of them. */
export function zoomByKey(key: string, { zoom, whole }: MapZoomProps): boolean {
  if (key === '+' || key === '=') zoom(ZOOM_STEP)
  else if (key === '-') zoom(1 / ZOOM_STEP)
  else if (key === '0') whole()
  else return false
  return true
}
