// A button for what is critical: an emergency stop must not wait for a dialog, and must not be sent by one slip. It is held for
// a second, or Enter is pressed twice.
import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button, type ButtonProps } from './button.tsx'
import './hold-button.css'
import { HOLD_MS, keyPressed, UNARMED } from './hold-intent.ts'

const t = words({
  how: ['Hold for 1 s, or press Enter twice.', 'Halten Sie ihn 1 s, oder drücken Sie zweimal Enter.'],
  again: ['Press Enter again to send.', 'Drücken Sie noch einmal Enter, um zu senden.'],
})

export interface HoldButtonProps
  extends Pick<ButtonProps, 'children' | 'write' | 'disabledBecause' | 'icon'> {
  /** A button of type `submit` takes the Enter of the form's fields as its own. */
  readonly type?: 'button' | 'submit'
  readonly onMeant: () => void
}

export function HoldButton({ onMeant, ...button }: HoldButtonProps) {
  const [isHeld, setHeld] = useState(false)
  const [intent, setIntent] = useState(UNARMED)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const release = () => {
    clearTimeout(timer.current)
    setHeld(false)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the events are those of the button in it.
    <span
      class={isHeld ? 'hold hold-on' : 'hold'}
      onPointerDown={({ target, button: which }) => {
        const pressed = target instanceof Element ? target.closest('button') : null
        if (which !== 0 || pressed === null || pressed.ariaDisabled === 'true') return
        setHeld(true)
        timer.current = setTimeout(() => {
          setHeld(false)
          onMeant()
        }, HOLD_MS)
      }}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onContextMenu={(event) => isHeld && event.preventDefault()}
      onKeyDown={(event) => {
        // A key that is held repeats, which is no second press.
        if (event.repeat) event.preventDefault()
      }}
    >
      <Button
        {...button}
        kind="danger"
        onClick={(event) => {
          event.preventDefault()
          // A click of the mouse is a hold that was too short.
          if (event.detail > 0) return
          const pressed = keyPressed(intent, Date.now())
          setIntent(pressed.intent)
          if (pressed.isMeant) onMeant()
        }}
      />
      <span class="hint" role="status">
        {intent.armedAtMs === undefined ? t('how') : t('again')}
      </span>
    </span>
  )
}
