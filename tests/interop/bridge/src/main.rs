//! A zenoh router with the plugin `ros2dds`: what `zenoh-bridge-ros2dds` is, which is not published as a crate.

use std::env;

use zenoh::Config;
use zenoh::internal::plugins::PluginsManager;
use zenoh::internal::runtime::RuntimeBuilder;
use zenoh_plugin_ros2dds::ROS2Plugin;

#[tokio::main]
async fn main() -> zenoh::Result<()> {
    zenoh::init_log_from_env_or("warn");
    let path = env::args().nth(1).ok_or("usage: bridge CONFIG")?;
    let mut plugins = PluginsManager::static_plugins_only();
    plugins.declare_static_plugin::<ROS2Plugin, _>("ros2dds", true);
    let config = Config::from_file(path)?;
    let builder = RuntimeBuilder::new(config).plugins_manager(plugins);
    let mut runtime = builder.build().await?;
    runtime.start().await?;
    println!("started");
    tokio::signal::ctrl_c().await?;
    Ok(())
}
