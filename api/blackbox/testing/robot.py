"""A robot for tests, in real ROS 2: it publishes on some topics, repeats what it is told and offers one service.

It prints a line once it is there. What it publishes goes on until it ends.
"""

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Float32, String
from std_srvs.srv import SetBool


class Robot(Node):
    def __init__(self):
        super().__init__("robot")
        self.battery = self.create_publisher(BatteryState, "/battery_state", 10)
        self.temperature = self.create_publisher(Float32, "/temperature", 10)
        self.diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.heard = self.create_publisher(String, "/heard", 10)
        self.last_heard = ""
        self.create_subscription(String, "/say", self.hear, 10)
        self.create_service(SetBool, "/lights", self.switch_lights)
        self.create_timer(0.02, self.measure)

    def measure(self):
        battery = BatteryState(percentage=0.5, voltage=24.5, current=float("nan"))
        battery.header.stamp = self.get_clock().now().to_msg()
        self.battery.publish(battery)
        self.temperature.publish(Float32(data=21.5))
        warning = DiagnosticStatus(level=DiagnosticStatus.WARN, name="motor", message="warm")
        self.diagnostics.publish(DiagnosticArray(status=[warning]))
        # Again and again, because who subscribes late misses what was said before.
        if self.last_heard:
            self.heard.publish(String(data=self.last_heard))

    def hear(self, message):
        self.last_heard = message.data

    def switch_lights(self, request, response):
        response.success = request.data
        response.message = "lights"
        return response


rclpy.init()
robot = Robot()
print("the robot is there", flush=True)
rclpy.spin(robot)
