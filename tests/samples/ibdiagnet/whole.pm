# Running version: "IBDIAGNET 2.13.0"
-------------------------------------------------------
Port=1 Lid=0x0015 GUID=0xb8cef60300a00001 Device=4123 Port Name=gpu-a/U1/P1
-------------------------------------------------------
link_down_counter=0x02
link_error_recovery_counter=0x00
symbol_error_counter=0xffff
port_xmit_data=0x3e8
port_xmit_discard=0x0007
port_xmit_wait=NA
symbol_error_counter_extended=0x11170
port_xmit_data_extended=0x7d0
-------------------------------------------------------
Port=2 Lid=0x000b GUID=0xb8cef60300b00010 Device=54000 Port Name=leaf-1/U1/P2
-------------------------------------------------------
link_down_counter=0xff
