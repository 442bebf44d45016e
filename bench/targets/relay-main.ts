// Reads each message of rosbridge and writes its content to a socket, which answers. This is a floor for the ROS 2 bridge.
import { connect } from 'node:net'
import { WebSocket } from 'ws'

const [rosUrl = '', port = '', topics = ''] = process.argv.slice(2)
const out = connect({ host: '127.0.0.1', port: Number(port), noDelay: true })
out.resume()
const ros = new WebSocket(rosUrl)
ros.on('message', (data) => {
  const { topic, msg }: Record<string, unknown> = JSON.parse(String(data))
  out.write(JSON.stringify({ topic, percentage: Reflect.get(Object(msg), 'percentage') }))
})
ros.once('open', () => {
  for (let n = 0; n < Number(topics); n++)
    ros.send(JSON.stringify({ op: 'subscribe', topic: `/battery_${n}` }))
})
