import { describe, expect, test } from 'vitest'
import { readCommandLine } from './command-line.ts'

describe('a command that is typed', () => {
  test('has a device, a name, and parameters that are JSON where they can be', () => {
    expect(
      readCommandLine('  robot-7 blink times=3 slow=true colour="light blue" to=[1,2] note=a=b '),
    ).toEqual({
      device: 'robot-7',
      command: 'blink',
      data: { times: 3, slow: true, colour: 'light blue', to: [1, 2], note: 'a=b' },
    })
    expect(readCommandLine('robot-7 blink')).toEqual({ device: 'robot-7', command: 'blink', data: {} })
  })

  test('is none without a command, or with something that is no pair', () => {
    for (const text of [
      '',
      'robot-7',
      'robot 7 b',
      'robot-7 times=3',
      'robot-7 blink =3',
      'robot-7 blink twice',
    ])
      expect(readCommandLine(text), text).toBeUndefined()
  })

  test('leaves alone what every object has', () => {
    const line = readCommandLine('robot-7 blink __proto__={"admin":true}')
    expect(Object.getPrototypeOf(line?.data)).toBe(Object.prototype)
    expect(Object.keys(line?.data ?? {})).toEqual(['__proto__'])
  })
})
